import type { WantedAgent, WantedSchedule, WantedServer } from '../fleet-file.ts'
import type { PresentAgent } from '../present.ts'
import { hasReference } from '../references.ts'
import { type Call, type Change, join, NO_PART, type Part, pairByName, toChanges, toShown } from './change.ts'
import type { DiffOptions } from './settings.ts'

const TASKS = '/api/scheduled-tasks'
const SCHEDULE_FIELDS = ['cronSchedule', 'timezone', 'prompt', 'description', 'enabled'] as const
const SERVER_FIELDS = ['allowedTools', 'trustedTools', 'enabled'] as const

/** What is removed goes first: there may be so many and no more. */
export function diffSchedules({ schedules }: WantedAgent, present: PresentAgent): Part {
  if (!schedules) return NO_PART
  const { kept, added, removed } = pairByName(schedules, present.schedules)
  return join([
    ...removed.map(({ id, name }) => toRemoval(`schedule ${name}`, TASKS, { taskId: id })),
    ...kept.map(({ want, have }) => changeSchedule(want, have)),
    // The agent's id is known when the call is made.
    ...added.map((want) => toAddition(`schedule ${want.name}`, `${want.cronSchedule} ${want.timezone}`, TASKS, want)),
  ])
}

function changeSchedule(want: WantedSchedule, have: PresentAgent['schedules'][number]): Part {
  const changes = SCHEDULE_FIELDS.flatMap((name) => toChanges(`schedule ${want.name}: ${name}`, have[name], want[name]))
  if (changes.length === 0) return NO_PART
  return { changes, calls: [{ method: 'PUT', path: TASKS, body: { taskId: have.id, ...want } }] }
}

export function diffServers(
  { name: agent, mcpServers }: WantedAgent,
  present: PresentAgent,
  options: DiffOptions,
): Part {
  if (!mcpServers) return NO_PART
  const { kept, added, removed } = pairByName(mcpServers, present.servers)
  return join([
    ...removed.map(({ id, name }) => toRemoval(`MCP server ${name}`, toServerPath(id))),
    ...kept.map(({ want, have }) => changeServer(agent, want, have, options)),
    ...added.map((want) => addServer(agent, want, options)),
  ])
}

function toServerPath(id: string): string {
  return `/mcp-servers/${encodeURIComponent(id)}`
}

function addServer(agent: string, want: WantedServer, options: DiffOptions): Part {
  const { name, allowedTools, trustedTools, enabled } = want
  const field = `MCP server ${name}`
  const { url, headers } = lookUpServer(agent, want, options)
  const addition = toAddition(field, want.url, '/mcp-servers', {
    name,
    url,
    headers,
    allowedTools,
    trustedTools,
    enabled,
  })
  return { ...addition, changes: [...addition.changes, ...toHeaderChanges(field, want, [])] }
}

function changeServer(
  agent: string,
  want: WantedServer,
  have: PresentAgent['servers'][number],
  options: DiffOptions,
): Part {
  const field = `MCP server ${want.name}`
  const comparesUrl = !hasReference(want.url) || options.sendsSecrets
  const hasUrl = comparesUrl && (want.url !== have.url || options.sendsSecrets)
  const hasHeaders = !hasSameNames(want, have.headerNames) || hasUrl || options.sendsSecrets
  const others = SERVER_FIELDS.flatMap((name) => toChanges(`${field}: ${name}`, have[name], want[name]))
  const changes = [
    ...(hasUrl ? toChanges(`${field}: url`, have.url, want.url) : []),
    ...(hasHeaders ? toHeaderChanges(field, want, have.headerNames) : []),
    ...others,
  ]
  if (changes.length === 0) return NO_PART
  // Another address forgets the headers, so they go with it.
  const secrets = hasUrl || hasHeaders ? lookUpServer(agent, want, options) : {}
  const body = { ...Object.fromEntries(SERVER_FIELDS.map((name) => [name, want[name]])), ...secrets }
  return { changes, calls: [{ method: 'PATCH', path: toServerPath(have.id), body }] }
}

/** Headers as they are sent, and the address unless it is compared by nobody. */
function lookUpServer(agent: string, { name, url, headers, bearer }: WantedServer, { lookUp }: DiffOptions) {
  const field = `${agent}: MCP server ${name}`
  const given = Object.entries(headers).map(([header, text]) => [header, lookUp(text, `${field}: ${header}`)])
  const authorization = bearer === undefined ? {} : { authorization: `Bearer ${lookUp(bearer, `${field}: bearer`)}` }
  return { url: lookUp(url, `${field}: url`), headers: { ...Object.fromEntries(given), ...authorization } }
}

function toHeaderNames({ headers, bearer }: WantedServer): Map<string, string> {
  const given = Object.entries(headers).map(([name, text]) => [name.toLowerCase(), text] as const)
  return new Map([...given, ...(bearer === undefined ? [] : [['authorization', bearer] as const])])
}

function hasSameNames(want: WantedServer, names: readonly string[]): boolean {
  const wanted = toHeaderNames(want)
  return wanted.size === names.length && names.every((name) => wanted.has(name))
}

function toHeaderChanges(field: string, want: WantedServer, before: readonly string[]): Change[] {
  const wanted = toHeaderNames(want)
  const gone = before.filter((name) => !wanted.has(name))
  return [
    ...gone.map((name): Change => ({ kind: 'remove', field: `${field}: header ${name}`, before: '(set)' })),
    ...[...wanted].flatMap(([name, text]) =>
      toChanges(`${field}: header ${name}`, before.includes(name) ? '(set)' : null, toShown(text)),
    ),
  ]
}

export function diffChannels(
  { name: agent, channels = {} }: WantedAgent,
  present: PresentAgent,
  { lookUp, sendsSecrets }: DiffOptions,
): Part {
  return join([diffMail(channels.mail, present.mail), diffWebhook()])

  function diffWebhook(): Part {
    const { webhook } = channels
    if (webhook === undefined) return NO_PART
    if (webhook === null) return present.webhook === null ? NO_PART : toRemoval('channel webhook', '/webhook-channel')
    const isSecret = hasReference(webhook.url)
    if (present.webhook !== null && !sendsSecrets && isSecret) return NO_PART
    const url = lookUp(webhook.url, `${agent}: channel webhook`)
    if (present.webhook === toOrigin(url) && !sendsSecrets) return NO_PART
    const changes = toChanges('channel webhook', present.webhook, isSecret ? webhook.url : toOrigin(url))
    const sent: Change[] = [
      { kind: 'change', field: 'channel webhook', before: present.webhook, after: toShown(webhook.url) },
    ]
    return {
      changes: changes.length > 0 ? changes : sent,
      calls: [{ method: 'PUT', path: '/webhook-channel', body: { url } }],
    }
  }
}

function diffMail(wanted: boolean | undefined, present: boolean): Part {
  if (wanted === undefined || wanted === present) return NO_PART
  const change: Change = wanted ? { kind: 'add', field: 'channel mail' } : { kind: 'remove', field: 'channel mail' }
  return { changes: [change], calls: [{ method: 'PUT', path: '/channels/mail', body: { isOn: wanted } }] }
}

/** An address that is none is refused by the server, which says so. */
function toOrigin(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}

function toRemoval(field: string, path: string, body?: Record<string, unknown>): Part {
  const call: Call = { method: 'DELETE', path, ...(body && { body }) }
  return { changes: [{ kind: 'remove', field }], calls: [call] }
}

function toAddition(field: string, after: string, path: string, body: Record<string, unknown>): Part {
  return { changes: [{ kind: 'add', field, after }], calls: [{ method: 'POST', path, body }] }
}
