import { isInProfile, isToolName } from '../../../core/agents/agent-tools.ts'
import { AppError } from '../../../core/errors.ts'
import { redact } from '../../../core/log.ts'
import { KeyList } from '../../../features/accounts/keys/schemas.ts'
import { SECRET_NAMES } from '../../../features/agents/registry/schemas.ts'
import type { ServerClient } from '../client.ts'
import { type FleetDocument, PLAIN_NAMES } from './fleet-file.ts'
import { exportHeartbeat } from './heartbeat.ts'
import { listFleet, type PresentAgent, readPresent } from './present.ts'

type WrittenAgent = FleetDocument['agents'][number]

/**
 * Returns the caller's fleet as a document. `variables` are the references of its secrets, `missing` lists what could
 * not be exported and why.
 */
export async function exportFleet(
  server: ServerClient,
): Promise<{ document: FleetDocument; variables: readonly string[]; missing: readonly string[] }> {
  const listed = await listFleet(server)
  const names = listed.map(({ name }) => name.toLowerCase())
  const variables = new Set<string>()
  const missing: string[] = []
  const agents: WrittenAgent[] = []
  for (const one of listed) {
    const isAlone = names.filter((name) => name === one.name.toLowerCase()).length === 1
    const refer = createReferences(variables, one.name)
    const present = await readPresent(server, one, { withInstructions: true })
    const { unreadable } = present.instructions
    if (unreadable !== null) missing.push(`the instructions of ${one.name} (${one.id}): ${unreadable}`)
    const written = toWritten(present, refer)
    agents.push(isAlone ? written : { id: one.id, ...written })
  }
  const heartbeat = await exportHeartbeat(server, listed)
  const keys = await exportKeys(server).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error
    missing.push(`the names of API keys: ${error.message} (a key may not list keys: run it where the server runs)`)
    return undefined
  })
  return {
    document: { version: 1, agents, heartbeat, ...(keys?.length && { keys }) },
    variables: [...variables],
    missing,
  }
}

/** Lists names and scopes of API keys, without their secrets. */
async function exportKeys(server: ServerClient): Promise<FleetDocument['keys']> {
  const { keys } = await server.ask(KeyList, 'GET', '/api/keys')
  return keys.map(({ name, scopes, expiresAt }) => ({ name, scopes: [...scopes], ...(expiresAt && { expiresAt }) }))
}

/** Returns a distinct variable name for each secret; a number is added when two agents have similar names. */
function createReferences(taken: Set<string>, agent: string) {
  return (...words: string[]): string => {
    const name = toVariable([agent, ...words].join('_'))
    const variable = [name, ...Array.from({ length: taken.size }, (_, index) => `${name}_${index + 2}`)].find(
      (candidate) => !taken.has(candidate),
    )
    taken.add(variable ?? name)
    return `\${env:${variable ?? name}}`
  }
}

/** `telegramToken` of `Ada` is `ADA_TELEGRAM_TOKEN`. */
function toVariable(text: string): string {
  const word = text
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
    .toUpperCase()
  return /^[A-Z]/.test(word) ? word : `AGENT_${word}`
}

type Refer = (...words: string[]) => string

function toWritten(agent: PresentAgent, refer: Refer): WrittenAgent {
  const present: Readonly<Record<string, unknown>> = agent.config
  const settings = PLAIN_NAMES.flatMap((name) => (hasValue(present[name]) ? [[name, present[name]] as const] : []))
  const set = SECRET_NAMES.filter((name) => agent.config.secrets[name])
  const secrets = set.map((name) => [name, refer(name)] as const)
  return {
    name: agent.name,
    model: agent.config.model,
    settings: Object.fromEntries(settings),
    ...(secrets.length > 0 && { secrets: Object.fromEntries(secrets) }),
    labels: [...agent.labels],
    caps: agent.caps,
    ...(agent.instructions.unreadable === null && { instructions: agent.instructions.text ?? '' }),
    ...toWrittenTools(agent.tools),
    schedules: agent.schedules.map(({ name, description, cronSchedule, timezone, prompt, enabled }) => ({
      name,
      cronSchedule,
      timezone,
      prompt,
      ...(description && { description }),
      ...(!enabled && { enabled }),
    })),
    mcpServers: agent.servers.map((server) => toWrittenServer(server, refer)),
    channels: {
      mail: agent.mail,
      webhook: agent.webhook === null ? null : { url: refer('webhook', 'channel', 'url') },
    },
  }
}

function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}

function toWrittenTools(tools: PresentAgent['tools']): Pick<WrittenAgent, 'tools'> {
  if (!tools) return {}
  const { profile, isChosen, httpHosts, limits } = tools
  const switched = tools.tools.filter(({ name, isOn }) => isToolName(name) && isOn !== isInProfile(name, profile))
  const switches = Object.fromEntries(switched.map(({ name, isOn }) => [name, isOn]))
  return {
    tools: {
      ...(isChosen && { profile }),
      ...(switched.length > 0 && { switches }),
      ...(httpHosts.length > 0 && { httpHosts }),
      limits,
    },
  }
}

function toWrittenServer(server: PresentAgent['servers'][number], refer: Refer) {
  const { name, url, command, args, allowedTools, trustedTools, enabled } = server
  const names = url === null ? server.environmentNames : server.headerNames
  const given = Object.fromEntries(names.map((one) => [one, refer('mcp', name, one)]))
  const words = args.map((text, index) =>
    redact(text) === text ? text : refer('mcp', name, 'argument', `${index + 1}`),
  )
  return {
    name,
    ...(url !== null && { url: mayHoldSecret(url) ? refer('mcp', name, 'url') : url }),
    ...(command !== null && { command }),
    ...(words.length > 0 && { args: words }),
    ...(names.length > 0 && (url === null ? { environment: given } : { headers: given })),
    ...(allowedTools && { allowedTools }),
    ...(trustedTools !== null && { trustedTools }),
    ...(!enabled && { enabled }),
  }
}

/** A server's URL often contains its key. */
function mayHoldSecret(url: string): boolean {
  const { username, password, search } = new URL(url)
  return username !== '' || password !== '' || search !== ''
}
