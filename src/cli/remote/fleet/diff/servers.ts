import type { WantedAgent, WantedServer } from '../fleet-file.ts'
import type { PresentAgent } from '../present.ts'
import {
  type Change,
  hasReference,
  joinParts,
  NO_PART,
  type Part,
  pairByName,
  toAddition,
  toChanges,
  toRemoval,
  toShown,
} from './change.ts'
import type { DiffOptions } from './settings.ts'

type PresentServer = PresentAgent['servers'][number]

const SERVER_FIELDS = ['allowedTools', 'trustedTools', 'enabled'] as const

export function diffServers(
  { name: agent, mcpServers }: WantedAgent,
  present: PresentAgent,
  options: DiffOptions,
): Part {
  if (!mcpServers) return NO_PART
  const { kept, added, removed } = pairByName(mcpServers, present.servers)
  // The kind of a server (URL or command) cannot change: another kind is another server.
  const others = kept.filter(({ want, have }) => (want.url === undefined) !== (have.url === null))
  const same = kept.filter((pair) => !others.includes(pair))
  return joinParts([
    ...[...removed, ...others.map(({ have }) => have)].map(({ id, name }) =>
      toRemoval(`MCP server ${name}`, toServerPath(id)),
    ),
    ...same.map(({ want, have }) => changeServer(agent, want, have, options)),
    ...[...others.map(({ want }) => want), ...added].map((want) => addServer(agent, want, options)),
  ])
}

function toServerPath(id: string): string {
  return `/mcp-servers/${encodeURIComponent(id)}`
}

function addServer(agent: string, want: WantedServer, options: DiffOptions): Part {
  const { name, allowedTools, trustedTools, enabled } = want
  const field = `MCP server ${name}`
  const place = toPlace(lookUpServer(agent, want, options))
  const body = { name, ...place, allowedTools, trustedTools, enabled }
  const addition = toAddition(field, want.url ?? toLine(want.command, want.args), '/mcp-servers', body)
  return { ...addition, changes: [...addition.changes, ...toGivenChanges(field, want, [])] }
}

function changeServer(agent: string, want: WantedServer, have: PresentServer, options: DiffOptions): Part {
  const field = `MCP server ${want.name}`
  const texts = want.url === undefined ? [want.command ?? '', ...want.args] : [want.url]
  const before = have.url === null ? [have.command ?? '', ...have.args] : [have.url]
  const isCompared = !texts.some(hasReference) || options.sendsSecrets
  const isMoved = isCompared && (JSON.stringify(texts) !== JSON.stringify(before) || options.sendsSecrets)
  const names = have.url === null ? have.environmentNames : have.headerNames
  const isGiven = !hasSameNames(want, names) || isMoved || options.sendsSecrets
  const changes = [
    ...(isMoved ? toPlaceChanges(field, want, have) : []),
    ...(isGiven ? toGivenChanges(field, want, names) : []),
    ...SERVER_FIELDS.flatMap((name) => toChanges(`${field}: ${name}`, have[name], want[name])),
  ]
  if (changes.length === 0) return NO_PART
  // A new URL resets the headers, and a new command the environment, so both are sent.
  const place = isMoved || isGiven ? toPlace(lookUpServer(agent, want, options)) : {}
  const body = { ...Object.fromEntries(SERVER_FIELDS.map((name) => [name, want[name]])), ...place }
  return { changes, calls: [{ method: 'PATCH', path: toServerPath(have.id), body }] }
}

function toPlaceChanges(field: string, want: WantedServer, have: PresentServer): Change[] {
  if (want.url !== undefined) return toChanges(`${field}: url`, have.url, want.url)
  const before = toLine(have.command ?? undefined, have.args)
  return toChanges(`${field}: command`, before, toLine(want.command, want.args))
}

/** Formats the command as a shell line, for display. */
function toLine(command = '', args: readonly string[] = []): string {
  return [command, ...args].map((word) => (/^[\w@%+=:,./${}-]+$/.test(word) ? word : JSON.stringify(word))).join(' ')
}

type Place = { url: string } | { command: string | undefined; args: string[] }
type LookedUp = Place & { given: Record<string, string> }

/** The URL or command, with the headers or environment that belong to it. */
function lookUpServer(agent: string, want: WantedServer, { lookUp }: DiffOptions): LookedUp {
  const field = `${agent}: MCP server ${want.name}`
  const given = Object.fromEntries(
    [...listGiven(want)].map(([name, text]) => [name, lookUp(text, `${field}: ${name}`)]),
  )
  if (want.url !== undefined) return { url: lookUp(want.url, `${field}: url`), given }
  return { command: want.command, args: want.args.map((text) => lookUp(text, `${field}: args`)), given }
}

function toPlace({ given, ...place }: LookedUp): Record<string, unknown> {
  return 'url' in place ? { ...place, headers: given } : { ...place, environment: given }
}

/** Secrets of a server by name: variables, or headers in lower case as the API returns them. */
function listGiven({ url, headers, bearer, environment }: WantedServer): Map<string, string> {
  if (url === undefined) return new Map(Object.entries(environment))
  const given = Object.entries(headers).map(([name, text]) => [name.toLowerCase(), text] as const)
  return new Map([...given, ...(bearer === undefined ? [] : [['authorization', `Bearer ${bearer}`] as const])])
}

function hasSameNames(want: WantedServer, names: readonly string[]): boolean {
  const wanted = listGiven(want)
  return wanted.size === names.length && names.every((name) => wanted.has(name))
}

function toGivenChanges(field: string, want: WantedServer, before: readonly string[]): Change[] {
  const kind = want.url === undefined ? 'variable' : 'header'
  const wanted = listGiven(want)
  const gone = before.filter((name) => !wanted.has(name))
  return [
    ...gone.map((name): Change => ({ kind: 'remove', field: `${field}: ${kind} ${name}`, before: '(set)' })),
    ...[...wanted].flatMap(([name, text]) => {
      const shown = name === 'authorization' && want.bearer !== undefined ? want.bearer : text
      return toChanges(`${field}: ${kind} ${name}`, before.includes(name) ? '(set)' : null, toShown(shown))
    }),
  ]
}
