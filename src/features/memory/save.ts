import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { SignedInUser } from '../../http/env.ts'
import { getAgent } from '../agents/list.ts'
import type { SaveMemoryRequest } from './schemas.ts'
import { agentMemory } from './tables.ts'

const MAX_VALUE_BYTES = 100 * 1024
const MAX_KEYS = 50
const MAX_KEY_CHARACTERS = 200

export type SaveDeps = { db: Db; clock: Clock }

/** What was kept: `keys` are those of the request. */
export type SavedMemory = { keys: string[]; savedAt: Date }

/**
 * Keeps one value or several, all or none.
 * @throws AppError `invalid` without a value, for one over 100 KB of JSON, and when the agent would have more than 50 keys;
 * `not_found` for a missing agent and for someone else's.
 */
export async function saveMemory(deps: SaveDeps, user: SignedInUser, request: SaveMemoryRequest): Promise<SavedMemory> {
  const { agentId } = request
  const values = readValues(request)
  const savedAt = deps.clock.now()
  await write(deps.db, (tx) => {
    getAgent(tx, { kind: 'user', user }, agentId)
    requireRoom(tx, user.id, agentId, values)
    for (const [key, value] of values) {
      const row = { userId: user.id, agentId, key, value, updatedAt: savedAt }
      const target = [agentMemory.userId, agentMemory.agentId, agentMemory.key]
      tx.insert(agentMemory).values(row).onConflictDoUpdate({ target, set: row }).run()
    }
  })
  return { keys: [...values.keys()], savedAt }
}

/** JSON text by key. */
function readValues({ key, memory }: SaveMemoryRequest): Map<string, string> {
  if (key !== undefined && memory !== undefined) return new Map([[key, toJson(memory)]])
  if (key !== undefined || !isObject(memory)) {
    throw new AppError('invalid', 'Memory data required (object or key+memory pair)')
  }
  const values = Object.entries(memory).map(([name, value]): [string, string] => [requireKey(name), toJson(value)])
  if (values.length > MAX_KEYS) throw tooManyKeys()
  return new Map(values)
}

function requireKey(key: string): string {
  if (key.length > 0 && key.length <= MAX_KEY_CHARACTERS) return key
  throw new AppError('invalid', `key must have 1 to ${MAX_KEY_CHARACTERS} characters`)
}

function toJson(value: unknown): string {
  const text = JSON.stringify(value)
  if (Buffer.byteLength(text) > MAX_VALUE_BYTES) throw new AppError('invalid', 'Memory value too large (max 100KB)')
  return text
}

function requireRoom(tx: Tx, userId: string, agentId: string, values: Map<string, string>): void {
  const known = tx
    .select({ key: agentMemory.key })
    .from(agentMemory)
    .where(and(eq(agentMemory.userId, userId), eq(agentMemory.agentId, agentId)))
    .all()
  const keys = new Set([...known.map(({ key }) => key), ...values.keys()])
  if (keys.size > MAX_KEYS) throw tooManyKeys()
}

function tooManyKeys(): AppError {
  return new AppError('invalid', `Too many memory keys (max ${MAX_KEYS})`)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
