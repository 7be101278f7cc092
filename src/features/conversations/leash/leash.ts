import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import { isToolName, type ToolName } from '../../../core/agents/agent-tools.ts'
import type { LimitAction, LimitKind } from '../../../core/agents/day-limits.ts'
import type { Db } from '../../../db/open.ts'
import { findOpenChannel } from '../../agents/channels/channels.ts'
import { type EgressSettings, readEgress } from '../../agents/egress/policy.ts'
import type { AgentEgress } from '../../agents/egress/schemas.ts'
import { findEgressGap, toShownIsolation, whyUnconfined } from '../../agents/registry/checks.ts'
import { showConfig } from '../../agents/registry/config.ts'
import type { ShownIsolation } from '../../agents/registry/schemas.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { showLimits } from '../../ai/breakers/limits-routes.ts'
import type { DayLimits } from '../../ai/breakers/schemas.ts'
import type { RunningSums } from '../../ai/usage/quota.ts'
import type { Base } from '../../base.ts'
import { showTools } from '../agent-tools/settings.ts'
import { listServers } from '../mcp-servers/servers.ts'
import type { McpServerRow } from '../mcp-servers/tables.ts'
import { findWebhookChannel } from '../webhook-channel/settings.ts'
import type { Leash, LeashClaim } from './schemas.ts'

type Words = Pick<LeashClaim, 'area'> & { on: string; off: string }

/** Describes each tool, on and off. */
const TOOLS: Readonly<Record<ToolName, Words>> = {
  read_page: { area: 'reach', on: 'Reads public web pages', off: 'Reads no web pages' },
  web_search: { area: 'reach', on: 'Searches the web', off: 'Does not search the web' },
  http_request: { area: 'reach', on: '', off: 'Makes no HTTP requests' },
  list_files: { area: 'reach', on: 'Lists the files of its workspace', off: 'Does not list its files' },
  read_file: { area: 'reach', on: 'Reads the files of its workspace', off: 'Reads no files' },
  search_files: { area: 'reach', on: 'Searches the files of its workspace', off: 'Does not search its files' },
  search_memory: { area: 'reach', on: 'Searches its memory and past conversations', off: 'Does not search its memory' },
  recall: { area: 'reach', on: 'Reads its memory', off: 'Reads no memory' },
  use_skill: { area: 'reach', on: 'Reads the skills that you installed', off: 'Uses no skills' },
  list_agents: { area: 'reach', on: 'Sees your other agents', off: 'Does not see your other agents' },
  paid_request: {
    area: 'spend',
    on: 'Pays for requests with its wallet; asks you before every payment',
    off: 'Makes no payments',
  },
  send_message: {
    area: 'send',
    on: 'Messages people and groups that it knows; asks you before it writes to anyone else',
    off: 'Starts no conversations',
  },
  message_agent: { area: 'send', on: 'Messages your other agents', off: 'Does not message your other agents' },
  remember: { area: 'change', on: 'Adds to its memory', off: 'Does not add to its memory' },
  forget: { area: 'change', on: 'Deletes from its memory', off: 'Does not delete from its memory' },
  write_file: {
    area: 'change',
    on: 'Writes files of its workspace; asks you before it changes its instructions',
    off: 'Writes no files',
  },
  patch_file: {
    area: 'change',
    on: 'Edits files of its workspace; asks you before it changes its instructions',
    off: 'Edits no files',
  },
  move_file: {
    area: 'change',
    on: 'Moves files of its workspace; asks you before it moves its instructions',
    off: 'Moves no files',
  },
  delete_file: { area: 'change', on: 'Deletes files; asks you before every deletion', off: 'Deletes no files' },
  schedule: { area: 'change', on: 'Plans and cancels its own scheduled tasks', off: 'Plans no tasks' },
  run_shell: { area: 'change', on: 'Runs commands; asks you before every command', off: 'Runs no commands' },
  run_python: { area: 'change', on: 'Runs Python; asks you before every run', off: 'Runs no Python' },
}
const MODES = { never: 'free', sometimes: 'sometimes', always: 'ask' } as const

export type LeashDeps = Base & {
  agentSums: RunningSums
  runtimes: Pick<Runtimes, 'runtimeOf'>
  egressSettings: EgressSettings
}

/** Returns what an agent may do, from the settings that its tools, channels and calls are checked against. */
export function showLeash(deps: LeashDeps, agent: AgentRow): Leash {
  const limits = showLimits(deps, agent)
  const isolation = toShownIsolation(agent, deps.runtimes)
  const gap = findEgressGap(agent, deps.runtimes)
  const egress = { ...readEgress(deps.db, deps.egressSettings, agent), gap }
  return {
    agentId: agent.id,
    complete: agent.kind === 'stead',
    confinement: whyUnconfined(agent),
    isolation,
    egress,
    claims: [
      ...listIsolationClaims(agent, isolation),
      toEgressClaim(egress),
      ...listToolClaims(deps.db, agent),
      ...listServers(deps.db, agent.id)
        .filter(({ enabled }) => enabled)
        .map(toServerClaim),
      ...listChannelClaims(deps, agent),
      ...listLimitClaims(limits),
    ],
    limits,
  }
}

/** An agent that was never started has no runtime, which decides about its isolation. */
function listIsolationClaims({ runtime }: AgentRow, { state, reason }: ShownIsolation): LeashClaim[] {
  if (runtime === null) return []
  const claim = { area: 'reach', name: 'isolation' } as const
  if (state === 'isolated') {
    const text = 'Reaches no files and processes of the server and of other agents'
    return [{ ...claim, mode: 'never', text: reason === null ? text : `${text}, but ${reason}` }]
  }
  if (runtime === 'machine')
    return [{ ...claim, mode: 'free', text: 'Reaches what its user on your machine may reach' }]
  return [{ ...claim, mode: 'free', text: 'Can reach files and processes of the server: it is not isolated' }]
}

/** Hosts named in a claim; the list may have hundreds. */
const MAX_NAMED_HOSTS = 10

function toEgressClaim({ policy, allow, gap }: AgentEgress): LeashClaim {
  const claim = { area: 'reach', name: 'egress' } as const
  const text = describeEgress({ policy, allow })
  // Programs that ignore the proxy settings are not limited.
  if (gap !== null) return { ...claim, mode: 'free', text: policy === 'open' ? text : `${text} (not enforced)` }
  const isClosed = policy === 'none' || (policy === 'allow-list' && allow.length === 0)
  return { ...claim, mode: isClosed ? 'never' : 'free', text }
}

function describeEgress({ policy, allow }: Pick<AgentEgress, 'policy' | 'allow'>): string {
  if (policy === 'open') return 'Connects to every public host'
  if (policy === 'none' || allow.length === 0) return 'Connects to no host'
  const more = allow.length - MAX_NAMED_HOSTS
  return `Connects only to ${allow.slice(0, MAX_NAMED_HOSTS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function listToolClaims(db: Db, agent: AgentRow): LeashClaim[] {
  // OpenClaw has tools of its own, which these switches do not change.
  if (agent.kind !== 'stead') return []
  const { tools, httpHosts } = showTools(db, agent)
  return tools.flatMap(({ name, isOn, approval }): LeashClaim[] => {
    if (!isToolName(name)) return []
    const { area, on, off } = TOOLS[name]
    if (!isOn) return [{ area, name, mode: 'never', text: off }]
    return [name === 'http_request' ? toHttpClaim(httpHosts) : { area, name, mode: MODES[approval], text: on }]
  })
}

function toHttpClaim(hosts: readonly string[]): LeashClaim {
  const claim = { area: 'reach', name: 'http_request' } as const
  if (hosts.length === 0) return { ...claim, mode: 'never', text: 'Makes no HTTP requests: no host is allowed' }
  const text = `Makes HTTP requests to ${hosts.join(', ')}; asks you before anything but GET and HEAD`
  return { ...claim, mode: 'sometimes', text }
}

function toServerClaim({ name, url, command, allowedTools, trustedTools }: McpServerRow): LeashClaim {
  const place = command === null ? new URL(url).host : 'a program in its container'
  const tools = allowedTools === null ? 'all tools' : `${allowedTools.length} tools`
  const claim = { area: 'reach', name: `mcp:${name}` } as const
  const what = `Uses ${tools} of the MCP server ${name} (${place})`
  if (trustedTools === null) {
    return { ...claim, mode: 'sometimes', text: `${what}; asks you unless the server marks a tool as read-only` }
  }
  if (trustedTools.length === 0) return { ...claim, mode: 'ask', text: `${what}; asks you before every use` }
  return { ...claim, mode: 'sometimes', text: `${what}; asks you before others than ${trustedTools.join(', ')}` }
}

const MESSENGERS = {
  telegramToken: 'Telegram',
  discordBotToken: 'Discord',
  slackBotToken: 'Slack',
  whatsappToken: 'WhatsApp',
} as const

function listChannelClaims({ db, sealer }: Base, agent: AgentRow): LeashClaim[] {
  const { secrets } = showConfig(sealer, agent)
  const hasMail = findOpenChannel(db, agent.id, 'mail')?.since != null
  const names = Object.entries(MESSENGERS).flatMap(([secret, name]) =>
    Object.entries(secrets).some(([key, isSet]) => key === secret && isSet) ? [name] : [],
  )
  const places = [...names, ...(hasMail ? ['mail'] : [])]
  const claim = { area: 'send', name: 'channels' } as const
  const people: LeashClaim =
    places.length === 0
      ? { ...claim, mode: 'never', text: 'Is connected to no messenger and no mail' }
      : { ...claim, mode: 'free', text: `Answers people whom you have admitted by ${places.join(', ')}` }
  if (findWebhookChannel(db, agent.id) === null) return [people]
  const text = 'Answers programs that have the secret of its webhook channel'
  return [people, { area: 'send', name: 'webhook', mode: 'free', text }]
}

const WHAT = {
  usd: ['spend', 'on models'],
  tokens: ['spend', 'tokens of models'],
  messages: ['send', 'messages'],
  toolCalls: ['change', 'tool calls'],
  files: ['change', 'written files'],
} as const satisfies Record<LimitKind, readonly [LeashClaim['area'], string]>
const THEN: Readonly<Record<LimitAction, string>> = {
  ask: 'then asks you',
  pause: 'then pauses until midnight',
  stop: 'then is stopped',
}

function listLimitClaims({ limits }: DayLimits): LeashClaim[] {
  const kinds = ['usd', 'tokens', 'messages', 'toolCalls', 'files'] as const
  return kinds.map((kind) => {
    const { limit, action, enforced } = limits[kind]
    const [area, what] = WHAT[kind]
    const claim = { area, name: `limit:${kind}` } as const
    if (!enforced) return { ...claim, mode: 'free', text: `No limit of ${what} a day can be enforced for its program` }
    if (limit === null)
      return { ...claim, mode: 'free', text: `No limit ${kind === 'usd' ? what : `of ${what}`} a day` }
    const amount = kind === 'usd' ? `$${limit} ${what}` : `${limit} ${what}`
    return { ...claim, mode: action === 'ask' ? 'sometimes' : 'free', text: `At most ${amount} a day, ${THEN[action]}` }
  })
}
