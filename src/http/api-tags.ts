/** Tags of the OpenAPI document with their descriptions, grouped by domain in reading order. */
export const API_TAGS = {
  Agents: {
    Agents: 'The registry: agents, their names, plans and settings.',
    Deployments: 'Starting, stopping, updating and repairing agents.',
    Watchdog: 'Health of agents and automatic repairs.',
    Logs: 'Agent logs.',
    Clones: 'Copies of an agent and their price.',
    Channels: 'Messengers of an agent and their allowed senders.',
    Verification: 'Ownership proofs of agents.',
    Machines: 'Home installations and linked gateways registered here.',
  },
  Conversations: {
    Chat: 'Conversations with agents: messages, sessions and resumable turns.',
    'Agent messages': "Messages between agents of one owner, sent with the agent's token.",
    Memory: 'Agent memory and standing instructions.',
    'Agent tools': 'Tools of an agent and their limits.',
    'MCP servers': 'Tools of external MCP servers.',
    Approvals: "Tool calls that wait for the owner's approval.",
    'Scheduled tasks': 'Prompts that run on a schedule, and their runs.',
    Swarms: 'Groups of agents that work on the same task.',
  },
  AI: {
    Models: 'Completions and embeddings through every configured provider; `/v1` is OpenAI-compatible.',
    Usage: 'Calls, tokens and costs, by day, agent, model and tool.',
    Limits: 'Daily caps of agents, and pausing model access.',
  },
  Accounts: {
    'Sign-in': 'Passwords, two-factor, wallets and identity providers.',
    Account: 'Settings, password, address and second factor of an account.',
    Keys: 'API keys, with scopes, budgets and an expiry.',
    Notifications: 'Notifications and the channels they are sent to.',
    'Invites and plans': "Invite codes and the operator's plans.",
    Identity: 'Social identities, token gating, and security events of identity providers.',
  },
  Payments: {
    Billing: 'Plans, credits, cards, the ledger and receipts.',
    Wallets: 'Wallets of users and agents, their limits, and payments in USDC.',
    'Paid gateway': 'Services sold per call over x402 and MPP.',
    Skills: 'Skills of agents and their actions.',
    'Agent economy': 'Events, signed messages between agents, and revenue splits.',
  },
  'Web tools': {
    Files: 'Agent workspaces: files, folders and git.',
    Web: 'Pages, searches and HTTP requests, without access to private networks.',
    Media: 'Live streams, videos and their webhooks.',
  },
  Monitoring: {
    Health: 'Health checks for users, proxies and monitoring.',
    Metrics: 'Resource usage of agents and the platform.',
    Overview: "Data of the dashboard's first page.",
    Fleet: 'All agents of a user, paged, with status and cost.',
    'Mission control': 'All agents at a glance: links, traces and costs.',
    Instances: "A user's agent addressed by user id, for older clients.",
    'MCP server': 'Stead as an MCP server: its tools for other programs.',
    'Infrastructure guide': 'How agents manage infrastructure at Render through its MCP server.',
  },
  Installation: {
    Administration: 'Accounts and the audit log, for administrators.',
    Services: 'Model providers, prices and mail, for administrators.',
    Backups: 'Backups of the installation and restore tests.',
  },
} as const satisfies Record<string, Record<string, string>>

type TagsOf<Group> = Group extends unknown ? keyof Group : never

/** Name of a tag. */
export type ApiTag = TagsOf<(typeof API_TAGS)[keyof typeof API_TAGS]>
