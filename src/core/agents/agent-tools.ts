import { z } from 'zod'

/** From the fewest tools to all; each profile includes the previous one. */
export const TOOL_PROFILES = ['minimal', 'messaging', 'coding', 'full'] as const
type ToolProfile = (typeof TOOL_PROFILES)[number]

type Tool = {
  /** The smallest profile with the tool; null when only its own switch enables it. */
  profile: ToolProfile | null
  /** `always`: each use needs the owner's approval. `sometimes`: the tool decides. */
  approval: 'never' | 'sometimes' | 'always'
  /** Where the tool runs. */
  where: 'agent' | 'platform'
  /** Available only in runtimes that isolate the agent. */
  isConfined?: true
}

/** Every tool of the built-in agent. */
export const AGENT_TOOLS = {
  remember: { profile: 'minimal', approval: 'never', where: 'agent' },
  recall: { profile: 'minimal', approval: 'never', where: 'agent' },
  forget: { profile: 'minimal', approval: 'never', where: 'agent' },
  search_memory: { profile: 'minimal', approval: 'never', where: 'platform' },
  use_skill: { profile: 'minimal', approval: 'never', where: 'agent' },
  list_files: { profile: 'messaging', approval: 'never', where: 'agent' },
  read_file: { profile: 'messaging', approval: 'never', where: 'agent' },
  write_file: { profile: 'messaging', approval: 'sometimes', where: 'agent' },
  read_page: { profile: 'messaging', approval: 'never', where: 'platform' },
  web_search: { profile: 'messaging', approval: 'never', where: 'platform' },
  schedule: { profile: 'messaging', approval: 'never', where: 'platform' },
  list_agents: { profile: 'messaging', approval: 'never', where: 'platform' },
  message_agent: { profile: 'messaging', approval: 'never', where: 'platform' },
  send_message: { profile: 'messaging', approval: 'sometimes', where: 'agent' },
  patch_file: { profile: 'coding', approval: 'sometimes', where: 'agent' },
  search_files: { profile: 'coding', approval: 'never', where: 'agent' },
  move_file: { profile: 'coding', approval: 'sometimes', where: 'agent' },
  delete_file: { profile: 'coding', approval: 'always', where: 'agent' },
  http_request: { profile: 'coding', approval: 'sometimes', where: 'platform' },
  paid_request: { profile: 'full', approval: 'always', where: 'agent' },
  run_shell: { profile: null, approval: 'always', where: 'agent', isConfined: true },
  run_python: { profile: null, approval: 'always', where: 'agent', isConfined: true },
} as const satisfies Record<string, Tool>
export type ToolName = keyof typeof AGENT_TOOLS

export const TOOL_NAMES = Object.keys(AGENT_TOOLS).filter(isToolName)

/** The smallest plan is for conversations; larger ones include coding tools. */
export function profileOfPlan(plan: string): ToolProfile {
  return plan === 'solo' ? 'messaging' : 'coding'
}

export function isInProfile(name: ToolName, profile: ToolProfile): boolean {
  const smallest = AGENT_TOOLS[name].profile
  return smallest !== null && TOOL_PROFILES.indexOf(smallest) <= TOOL_PROFILES.indexOf(profile)
}

/** Returns whether the tool requires an isolated runtime. */
export function needsConfinement(name: ToolName): boolean {
  return 'isConfined' in AGENT_TOOLS[name]
}

export function isToolName(name: string): name is ToolName {
  return Object.hasOwn(AGENT_TOOLS, name)
}

export const LIMITS = { modelTurns: { usual: 16, max: 100 }, toolCalls: { usual: 40, max: 500 } } as const

/**
 * `GET /v1/tools`: the tools and limits of the agent's next turn. `maxUsd` null means no limit; `price` is the model's
 * price, null when unknown, and then cost is not limited. `hasMcp`: MCP servers offer further tools. `timeZone` is the
 * owner's, null when unknown. `acceptsNotIsolated`: commands may run where nothing isolates the agent.
 */
export const ToolSettings = z.object({
  tools: z.array(z.string()),
  hasMcp: z.boolean().default(false),
  acceptsNotIsolated: z.boolean().default(false),
  limits: z.object({ modelTurns: z.number(), toolCalls: z.number(), maxUsd: z.number().nullable() }),
  price: z.object({ inputUsdPerMillion: z.number(), outputUsdPerMillion: z.number() }).nullable(),
  timeZone: z.string().nullable().default(null),
})
export type ToolSettings = z.infer<typeof ToolSettings>
