import { and, count, eq, inArray } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/json/json-object.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findAgent, getAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { type StorageQuota, withinWorkspaceQuota } from '../../agents/storage/quota.ts'
import type { Base } from '../../base.ts'
import { isNoteOf, type NoteDeps, writeNote } from './notes.ts'
import { type ImportRequest, MAX_KEY_CHARACTERS, type RememberRequest, type SaveMemoryRequest } from './schemas.ts'
import { agentMemory, type MemoryRow, type MemorySource } from './tables.ts'

const MAX_VALUE_BYTES = 100 * 1024
/** Most keys per source, so that neither takes the other's space. */
const MAX_KEYS: Readonly<Record<MemorySource, number>> = { user: 50, agent: 100 }

type Origin = Pick<MemoryRow, 'session' | 'page'>
const NO_ORIGIN: Origin = { session: null, page: null }

type NewFact = Omit<MemoryRow, 'sequence'>

export type SaveDeps = Base & { storage: Pick<StorageQuota, 'within'> }

/** `keys` are those of the request. */
type SavedMemory = { keys: string[]; savedAt: Date }

/**
 * Stores one or several values, all or none. Note files of an OpenClaw agent are written after the rest.
 * @throws AppError `invalid` without a value, for a value over 100 KB of JSON, and for more than 50 keys; `not_found`
 * for a missing agent and for another user's; `storage_full`; as `writeNote` for a file.
 */
export async function saveMemory(
  deps: SaveDeps & NoteDeps,
  user: SignedInUser,
  request: SaveMemoryRequest,
): Promise<SavedMemory> {
  const { agentId } = request
  const values = readValues(request)
  const savedAt = deps.clock.now()
  const { agent, notes } = await write(deps.db, (tx) => {
    const found = getAgent(tx, { kind: 'user', user }, agentId)
    const isFile = ([key]: [string, string]) => isNoteOf(found, key)
    const files = [...values].filter(isFile).map(([path, json]) => ({ path, text: requireText(path, json) }))
    const facts = new Map([...values].filter((value) => !isFile(value)))
    deps.storage.within(tx, found.ownerId, () => keep(tx, { agentId, source: 'user', ...NO_ORIGIN, savedAt }, facts))
    return { agent: found, notes: files }
  })
  for (const { path, text } of notes) {
    await withinWorkspaceQuota(deps, { agent }, Buffer.byteLength(text), () => writeNote(deps, agent, path, text))
  }
  return { keys: [...values.keys()], savedAt }
}

/** As `saveMemory`, for one value of the agent. @throws AppError `invalid`, `storage_full`, `not_found`. */
export async function rememberFact(deps: SaveDeps, agentId: string, request: RememberRequest): Promise<Date> {
  const savedAt = deps.clock.now()
  const values = new Map([[request.key, toJson(request.memory)]])
  const origin = { session: request.session ?? null, page: request.page ?? null }
  await write(deps.db, (tx) => {
    const { ownerId } = requireAgent(tx, agentId)
    deps.storage.within(tx, ownerId, () => keep(tx, { agentId, source: 'agent', ...origin, savedAt }, values))
  })
  return savedAt
}

/**
 * Imports facts of an agent's local memory file, without the key limit. Existing facts stay, so a repeated import
 * changes nothing.
 * @returns the number of new facts.
 * @throws AppError `storage_full`, `not_found`.
 */
export async function importFacts(deps: SaveDeps, agentId: string, { facts }: ImportRequest): Promise<number> {
  const rows = facts.map(({ key, text, at }): NewFact => {
    const updatedAt = at ? new Date(at) : deps.clock.now()
    return { agentId, key, value: toJson(text), source: 'agent', ...NO_ORIGIN, createdAt: updatedAt, updatedAt }
  })
  return write(deps.db, (tx) => {
    if (rows.length === 0) return 0
    const insert = () => tx.insert(agentMemory).values(rows).onConflictDoNothing().run()
    const { changes } = deps.storage.within(tx, requireAgent(tx, agentId).ownerId, insert)
    // An import can double the number of facts at most, because a local file has the same limit.
    if (countKeys(tx, agentId, 'agent') > 2 * MAX_KEYS.agent) throw tooManyKeys('agent')
    return changes
  })
}

/**
 * Stores texts as facts of the agent, the first ones if the space does not suffice for all; existing keys stay.
 * @returns the new keys, and those left out.
 * @throws AppError `storage_full`, `not_found`.
 */
export function addTexts(
  deps: SaveDeps,
  tx: Tx,
  { agentId, session }: { agentId: string; session: string },
  texts: ReadonlyMap<string, string>,
): { added: string[]; tooMany: string[] } {
  const { ownerId } = requireAgent(tx, agentId)
  const now = deps.clock.now()
  const freeKeys = Math.max(2 * MAX_KEYS.agent - countKeys(tx, agentId, 'agent'), 0)
  const known = new Set(listKnown(tx, agentId, [...texts.keys()]))
  const fresh = [...texts.keys()].filter((key) => !known.has(key))
  const rows = fresh.slice(0, freeKeys).map((key): NewFact => {
    const origin = { source: 'agent', session, page: null, createdAt: now, updatedAt: now } as const
    return { agentId, key, value: toJson(texts.get(key)), ...origin }
  })
  if (rows.length > 0) deps.storage.within(tx, ownerId, () => tx.insert(agentMemory).values(rows).run())
  return { added: rows.map(({ key }) => key), tooMany: fresh.slice(freeKeys) }
}

export function fitsFact(text: string): boolean {
  return Buffer.byteLength(JSON.stringify(text)) <= MAX_VALUE_BYTES
}

function listKnown(tx: Tx, agentId: string, keys: string[]): string[] {
  const isThese = and(eq(agentMemory.agentId, agentId), inArray(agentMemory.key, keys))
  return tx
    .select({ key: agentMemory.key })
    .from(agentMemory)
    .where(isThese)
    .all()
    .map(({ key }) => key)
}

function requireAgent(tx: Tx, id: string): { ownerId: string | null } {
  const agent = tx.select({ ownerId: agents.ownerId }).from(agents).where(eq(agents.id, id)).get()
  if (!agent) throw new AppError('not_found', 'Agent not found')
  return agent
}

type Writer = Origin & { agentId: string; source: MemorySource; savedAt: Date }

/** Stores the values. A replaced fact keeps its creation time. */
function keep(tx: Tx, { agentId, source, session, page, savedAt }: Writer, values: Map<string, string>): void {
  const known = countKeys(tx, agentId, source)
  const again = countKeys(tx, agentId, source, [...values.keys()])
  if (values.size > again && known + values.size - again > MAX_KEYS[source]) throw tooManyKeys(source)
  for (const [key, value] of values) {
    const origin = { value, source, session, page, updatedAt: savedAt }
    const target = [agentMemory.agentId, agentMemory.key]
    const row: NewFact = { agentId, key, createdAt: savedAt, ...origin }
    tx.insert(agentMemory).values(row).onConflictDoUpdate({ target, set: origin }).run()
  }
}

function countKeys(tx: Tx, agentId: string, source: MemorySource, keys?: string[]): number {
  const isOurs = and(eq(agentMemory.agentId, agentId), eq(agentMemory.source, source))
  const isMeant = keys ? and(isOurs, inArray(agentMemory.key, keys)) : isOurs
  return tx.select({ keys: count() }).from(agentMemory).where(isMeant).get()?.keys ?? 0
}

/** Returns JSON text by key. */
function readValues({ key, memory }: SaveMemoryRequest): Map<string, string> {
  if (key !== undefined && memory !== undefined) return new Map([[key, toJson(memory)]])
  if (key !== undefined || !isJsonObject(memory)) {
    throw new AppError('invalid', 'Memory data required (object or key+memory pair)')
  }
  const values = Object.entries(memory).map(([name, value]): [string, string] => [requireKey(name), toJson(value)])
  if (values.length > MAX_KEYS.user) throw tooManyKeys('user')
  return new Map(values)
}

function requireKey(key: string): string {
  if (key.length > 0 && key.length <= MAX_KEY_CHARACTERS) return key
  throw new AppError('invalid', `key must have 1 to ${MAX_KEY_CHARACTERS} characters`)
}

function requireText(path: string, json: string): string {
  const value: unknown = JSON.parse(json)
  if (typeof value === 'string') return value
  throw new AppError('invalid', `${path} is a file of the agent and must be text`)
}

function toJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) throw new AppError('invalid', 'Memory value too large (max 100KB)')
  return text
}

function tooManyKeys(source: MemorySource): AppError {
  return new AppError('invalid', `Too many memory keys (max ${MAX_KEYS[source]})`)
}

/**
 * Deletes a fact; for an OpenClaw note file it empties the file.
 * @throws AppError `not_found` without such an agent or key; `conflict` for a file of an agent that does not run.
 */
export async function forgetKey(
  deps: NoteDeps & { db: Db },
  user: SignedInUser,
  agentId: string,
  key: string,
): Promise<void> {
  const agent = findAgent(deps.db, { kind: 'user', user }, agentId)
  if (!agent) throw noSuchKey()
  if (isNoteOf(agent, key)) await writeNote(deps, agent, key, '')
  else await write(deps.db, (tx) => removeKey(tx, agentId, key))
}

/** As `forgetKey`, for the agent itself. @throws AppError `not_found`. */
export async function forgetOwnKey(db: Db, agentId: string, key: string): Promise<void> {
  await write(db, (tx) => removeKey(tx, agentId, key))
}

/** Deletes all facts of an agent; part of resetting its memory. */
export function clearMemory(tx: Tx, agentId: string): void {
  tx.delete(agentMemory).where(eq(agentMemory.agentId, agentId)).run()
}

function removeKey(tx: Tx, agentId: string, key: string): void {
  const isThis = and(eq(agentMemory.agentId, agentId), eq(agentMemory.key, key))
  if (tx.delete(agentMemory).where(isThis).run().changes === 0) throw noSuchKey()
}

function noSuchKey(): AppError {
  return new AppError('not_found', 'Memory key not found')
}
