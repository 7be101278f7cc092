import type { ErrorCodes } from './error-code.ts'

/** Codes of agents, conversations and tools. */
export const AGENT_CODES = {
  AGENT_NOT_RUNNING: { kinds: ['conflict'], means: 'The agent must be running.', remedy: 'Start the agent.' },
  NOT_RUNNING: { kinds: ['conflict'], means: 'The agent must be running.', remedy: 'Start the agent.' },
  RUNNING: { kinds: ['conflict'], means: 'The agent must be stopped.', remedy: 'Stop the agent.' },
  WAKE_FAILED: {
    kinds: ['unavailable'],
    means: 'The sleeping agent could not be started; the message contains the reason.',
    remedy: 'Read its log, then repair it.',
  },
  SINGLE_NODE: {
    kinds: ['not_found'],
    means: 'This installation is not a cluster.',
    remedy: 'Set `CLUSTER_LOG_URL` on its nodes.',
  },
  NOT_LEADER: {
    kinds: ['unavailable'],
    means: 'This node of the cluster does not write, and no leader was found. Nothing was done.',
    remedy: 'Repeat the request after `Retry-After`.',
  },
  LOG_UNAVAILABLE: {
    kinds: ['unavailable'],
    means: 'The log of the cluster does not answer. Nothing was done.',
    remedy: 'Repeat the request after `Retry-After`.',
  },
  OUTCOME_UNKNOWN: {
    kinds: ['unavailable'],
    means: 'The log of the cluster did not answer in time, so the write may or may not take effect.',
    remedy: 'Read the object before you repeat the request.',
  },
  EGRESS_BLOCKED: {
    kinds: ['forbidden'],
    means: 'The egress policy of the agent does not allow the destination, or its address is private.',
    remedy: 'Add the host to the policy with `PUT /api/agents/:id/egress`.',
  },
  MACHINE_OFFLINE: {
    kinds: ['unavailable'],
    means: 'The machine that runs the agent is not connected; the message says since when.',
    remedy: 'Start `stead home` or `stead link` on the machine.',
  },
  RUNS_ON_MACHINE: {
    kinds: ['conflict'],
    means: "The agent runs on its owner's machine, where the platform cannot start, stop or change it.",
    remedy: 'Use the commands of the machine.',
  },
  PAIRING_CODE_UNKNOWN: {
    kinds: ['invalid'],
    means: 'No pairing code matches.',
    remedy: 'Check the code, or create a new one on the page Machines.',
  },
  PAIRING_CODE_USED: {
    kinds: ['conflict'],
    means: 'Another machine has used the pairing code.',
    remedy: 'Create a new one on the page Machines.',
  },
  PAIRING_CODE_EXPIRED: {
    kinds: ['conflict'],
    means: 'The pairing code is older than `PAIRING_CODE_MINUTES`.',
    remedy: 'Create a new one on the page Machines.',
  },
  VERSION_UNSUPPORTED: {
    kinds: ['conflict'],
    means: 'The versions of machine and platform are more than one minor version apart; `version` is the platform’s.',
    remedy: 'Run `stead upgrade` where the message says.',
  },
  ROLLED_BACK: {
    kinds: ['internal'],
    means: 'The new version was not healthy; the previous one was restored.',
    remedy: 'Read the reason in `GET /api/agents/:id/deployments`.',
  },
  ENGINE_UNAVAILABLE: {
    kinds: ['internal'],
    means: 'The container engine or runtime does not respond.',
    remedy: 'Retry; the operator runs `stead doctor`.',
  },
  IMAGE_NOT_FOUND: { kinds: ['not_found'], means: 'No image has this name.', remedy: 'Correct the name.' },
  IMAGE_NOT_ALLOWED: {
    kinds: ['invalid'],
    means: 'The operator does not allow this image.',
    remedy: 'Use one of the allowed images.',
  },
  UNKNOWN_MODEL: {
    kinds: ['invalid'],
    means: 'No provider offers this model; `near` lists similar ones.',
    remedy: 'Choose a model from `GET /api/models`.',
  },
  NAME_TAKEN: { kinds: ['conflict'], means: 'The name is already in use.', remedy: 'Choose another name.' },
  NOT_CONFINED: {
    kinds: ['invalid'],
    means: 'The agent does not run in a container, so commands would not be isolated.',
    remedy: 'Use an agent that runs in a container (`AGENT_RUNTIME=docker` or `swarm`).',
  },
  PORT_TAKEN: {
    kinds: ['conflict'],
    means: 'Another program uses the port.',
    remedy: 'Retry: another port is selected.',
  },
  ON_ANOTHER_NODE: {
    kinds: ['unavailable'],
    means: 'The files of the agent are on another machine of the swarm.',
    remedy: 'Use that machine, or the tools of the agent.',
  },
  OTHER_RUNTIME: {
    kinds: ['conflict'],
    means: 'The agent stores this in its own files.',
    remedy: 'Edit those files in its workspace.',
  },
  TURN_RUNNING: {
    kinds: ['conflict'],
    means: 'The reply is not finished.',
    remedy: 'Wait for it, or stop the turn.',
  },
  TURN_STOPPED: {
    kinds: ['conflict'],
    means: 'The turn was stopped; `reply` contains the partial answer.',
    remedy: 'Send the message again.',
  },
  TURN_INTERRUPTED: {
    kinds: ['conflict'],
    means: 'The agent ended during the turn.',
    remedy: 'Send the message again.',
  },
  TURN_NOT_FOUND: { kinds: ['not_found'], means: 'The agent has no such turn.', remedy: 'Send the message again.' },
  SWARM_DISABLED: { kinds: ['conflict'], means: 'The swarm is disabled.', remedy: 'Enable the swarm.' },
  SWARM_EMPTY: { kinds: ['conflict'], means: 'The swarm has no agents.', remedy: 'Add agents.' },
  TOOL_OFF: {
    kinds: ['forbidden'],
    means: 'The owner disabled this tool for the agent.',
    remedy: 'Enable it in the settings of the agent.',
  },
  HOST_NOT_ALLOWED: {
    kinds: ['forbidden'],
    means: 'The owner has not allowed requests to this host.',
    remedy: 'Add the host in the tool settings of the agent.',
  },
  OTHER_PLATFORM: {
    kinds: ['conflict'],
    means: 'The conversation takes place on another platform, such as Telegram.',
    remedy: 'Write there, or start a new conversation.',
  },
  MCP_AUTHORIZATION_REQUIRED: {
    kinds: ['upstream_failed'],
    means: 'The MCP server needs a sign-in, or no longer accepts the one that was made.',
    remedy: 'Connect the server in the settings of the agent, at `connectUrl` where the answer has it.',
  },
  NO_AUTHORIZATION_SERVER: {
    kinds: ['upstream_failed'],
    means: 'The MCP server names no authorization server.',
    remedy: 'Use a bearer token of the vendor instead.',
  },
  ISSUER_MISMATCH: {
    kinds: ['upstream_failed'],
    means: 'The answer does not come from the authorization server that the MCP server names.',
    remedy: 'Do not sign in there, and report it to the vendor of the MCP server.',
  },
  UNSAFE_ENDPOINT: {
    kinds: ['upstream_failed'],
    means: 'The authorization server names an endpoint without https or with a private address.',
    remedy: 'Report it to the vendor of the MCP server.',
  },
  PKCE_UNSUPPORTED: {
    kinds: ['upstream_failed'],
    means: 'The authorization server does not support PKCE with S256.',
    remedy: 'Use a bearer token of the vendor instead.',
  },
  CLIENT_REQUIRED: {
    kinds: ['conflict'],
    means: 'The authorization server does not register clients.',
    remedy: 'Create an application there, and send its `clientId` and `clientSecret`.',
  },
  AUTHORIZATION_FAILED: {
    kinds: ['upstream_failed'],
    means: 'The authorization server did not answer as the standards say.',
    remedy: 'Try again later.',
  },
  TEST_RUNNING: {
    kinds: ['conflict'],
    means: 'An injection test of this agent is running.',
    remedy: 'Wait for its end.',
  },
  NOT_APPROVED: {
    kinds: ['forbidden', 'conflict'],
    means: 'The owner has not approved this exact request.',
    remedy: 'Request an approval with `POST /v1/approvals`, then send the approved request.',
  },
  NOT_WAITING: {
    kinds: ['conflict'],
    means: 'The approval was already decided or has expired.',
    remedy: 'Read its current status.',
  },
  NOT_OWNER: {
    kinds: ['forbidden'],
    means: 'Only an owner of the agent can decide this.',
    remedy: 'Decide as the owner.',
  },
  NO_OWNER: {
    kinds: ['forbidden'],
    means: 'The agent has no owner who could approve this.',
    remedy: 'Assign an owner to the agent.',
  },
  DASHBOARD_ONLY: {
    kinds: ['forbidden'],
    means: 'Payments, and requests of agents that run commands, can be decided only on the dashboard.',
    remedy: 'Decide on the dashboard.',
  },
  BINARY_FILE: { kinds: ['invalid'], means: 'The file is not text.', remedy: 'Download it.' },
  FILE_CHANGED: {
    kinds: ['conflict'],
    means: 'The file has changed since it was read.',
    remedy: 'Read it again, then write.',
  },
} as const satisfies ErrorCodes
