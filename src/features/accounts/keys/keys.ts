import { and, desc, eq, lte, ne } from 'drizzle-orm'
import { addDays, type Clock, toMonth } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId, randomText } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { sha256 } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { isLimited, requireIncreasedBudget, requireModelsOnly, toIncreaseColumns, toLimitColumns } from './limits.ts'
import type { ChangeKeyRequest, CreateKeyRequest } from './schemas.ts'
import { type ApiKeyRow, apiKeys } from './tables.ts'

/** Leading characters stored in plain text, for the lookup and for the owner to recognise the key. */
export const PREFIX_LENGTH = 10
const MAX_KEYS_PER_USER = 25
/** 43 of 62 characters: 256 bits, so a SHA-256 hash is safe to store. */
const RANDOM_LENGTH = 43

/**
 * Creates a key. The raw key is in the result only.
 * @throws AppError `limited` at 25 keys, `invalid` for an expiry in the past, for spending limits combined with scopes
 * other than `models`, and for an increase of no budget.
 */
export async function createKey(
  deps: { db: Db; clock: Clock },
  userId: string,
  request: CreateKeyRequest,
): Promise<{ row: ApiKeyRow; key: string }> {
  const now = deps.clock.now()
  const limits = {
    expiresAt: readExpiry(request, now),
    scopes: [...new Set(request.scopes)],
    ...toLimitColumns(request),
    ...toSettingColumns(request, now),
  }
  requireModelsOnly(limits)
  requireIncreasedBudget(limits)
  const key = newKey()
  const row = await write(deps.db, (tx) => {
    requireKeyQuota(tx, userId, now)
    return insertKey(tx, key, { userId, name: request.name, createdAt: now, ...limits })
  })
  return { row, key }
}

/** Returns the columns of the settings beside the limits; missing fields stay unchanged. */
function toSettingColumns(request: CreateKeyRequest | ChangeKeyRequest, now: Date) {
  const { allowedCidrs, budgetIncrease, logBodies, guardrails, cacheSeconds } = request
  return {
    ...(guardrails !== undefined && { guardrails }),
    ...(cacheSeconds !== undefined && { cacheSeconds: cacheSeconds || null }),
    ...(logBodies !== undefined && { logBodies }),
    ...(allowedCidrs !== undefined && { allowedCidrs: allowedCidrs ?? [] }),
    ...toIncreaseColumns(budgetIncrease, now),
  }
}

export function newKey(): string {
  return `sk_${randomText(RANDOM_LENGTH)}`
}

/** Stores the hash of a raw key. */
export function insertKey(
  tx: Tx,
  key: string,
  row: Omit<typeof apiKeys.$inferInsert, 'id' | 'prefix' | 'hash'>,
): ApiKeyRow {
  return tx
    .insert(apiKeys)
    .values({ ...row, id: newId('key'), prefix: key.slice(0, PREFIX_LENGTH), hash: sha256(key) })
    .returning()
    .get()
}

/**
 * Deletes expired keys when the limit is reached. `replaced` is about to be deleted and does not count.
 * @throws AppError `limited` at 25 keys.
 */
function requireKeyQuota(tx: Tx, userId: string, now: Date, replaced = ''): void {
  const isOther = and(eq(apiKeys.userId, userId), ne(apiKeys.id, replaced))
  if (countRows(tx, apiKeys, isOther) < MAX_KEYS_PER_USER) return
  tx.delete(apiKeys)
    .where(and(isOther, lte(apiKeys.expiresAt, now)))
    .run()
  const current = countRows(tx, apiKeys, isOther)
  const message = `API key limit reached (max ${MAX_KEYS_PER_USER})`
  requireQuota({ current, limit: MAX_KEYS_PER_USER, message, extra: {} })
}

function readExpiry({ expiresInDays, expiresAt }: CreateKeyRequest, now: Date): Date | null {
  if (expiresInDays !== undefined) return addDays(now, expiresInDays)
  if (expiresAt === undefined) return null
  const time = new Date(expiresAt)
  if (time <= now) throw new AppError('invalid', 'expiresAt must be in the future')
  return time
}

/** Returns a user's keys, newest first. */
export function listKeys(db: Db, userId: string): ApiKeyRow[] {
  return db
    .select()
    .from(apiKeys)
    .where(eq(apiKeys.userId, userId))
    .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
    .all()
}

/** @throws AppError `not_found` for an unknown key and for another user's. */
export function getKey(db: Db, userId: string, id: string): ApiKeyRow {
  const row = db
    .select()
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), eq(apiKeys.userId, userId)))
    .get()
  if (!row) throw new AppError('not_found', 'Key not found')
  return row
}

/**
 * Changes the name, limits or settings of a key, or disables or enables it; takes effect with the next call.
 * An increase ends with the budget.
 * @throws AppError `not_found` for an unknown key and for another user's, `invalid` for spending limits on a key with
 * scopes other than `models`, and for an increase of no budget.
 */
export async function changeKey(
  deps: { db: Db; clock: Clock },
  userId: string,
  id: string,
  { name, disabled, ...settings }: ChangeKeyRequest,
): Promise<ApiKeyRow> {
  const now = deps.clock.now()
  const increase = settings.monthlyBudgetUsd === null ? null : settings.budgetIncrease
  const change = {
    ...toLimitColumns(settings),
    ...toSettingColumns({ ...settings, budgetIncrease: increase }, now),
    ...(name !== undefined && { name }),
    ...(disabled !== undefined && { disabledAt: disabled ? now : null }),
  }
  return write(deps.db, (tx) => {
    const isOwn = and(eq(apiKeys.id, id), eq(apiKeys.userId, userId))
    const row = tx.update(apiKeys).set(change).where(isOwn).returning().get()
    if (!row) throw new AppError('not_found', 'Key not found')
    // Throwing here rolls the update back.
    if (isLimited(change)) requireModelsOnly(row)
    requireIncreasedBudget(row)
    return row
  })
}

/** Copies the usage of one key in a month (`YYYY-MM`, UTC) to another key. */
export type CopyKeyUsage = (tx: Tx, from: string, to: string, month: string) => void
export type RotateDeps = { db: Db; clock: Clock; copyKeyUsage: CopyKeyUsage }

const HOUR_MS = 3_600_000

/** `replacedUntil` is null when the old key stopped working. */
type Rotation = { row: ApiKeyRow; key: string; replacedUntil: Date | null }

/**
 * Creates a key with the name, scopes, limits, lifetime and current usage of `id`. The old key stays valid for
 * `overlapHours` or is deleted at once; an account may have 26 keys during an overlap.
 * @throws AppError `not_found`, `conflict` for a disabled key, `limited`.
 */
export async function rotateKey(deps: RotateDeps, userId: string, id: string, overlapHours: number): Promise<Rotation> {
  const key = newKey()
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const old = getKey(tx, userId, id)
    if (old.disabledAt) throw new AppError('conflict', 'A disabled key cannot be rotated')
    requireKeyQuota(tx, userId, now, id)
    const lifetimeMs = old.expiresAt ? old.expiresAt.getTime() - old.createdAt.getTime() : null
    const expiresAt = lifetimeMs === null ? null : new Date(now.getTime() + lifetimeMs)
    const { id: _, prefix: __, hash: ___, lastUsedAt: ____, ...kept } = old
    const row = insertKey(tx, key, { ...kept, createdAt: now, expiresAt })
    deps.copyKeyUsage(tx, old.id, row.id, toMonth(now))
    return { row, key, replacedUntil: retire(tx, old, new Date(now.getTime() + overlapHours * HOUR_MS), now) }
  })
}

/** An overlap never extends the old key's lifetime. */
function retire(tx: Tx, old: ApiKeyRow, until: Date, now: Date): Date | null {
  const isThis = and(eq(apiKeys.id, old.id), eq(apiKeys.userId, old.userId))
  const end = old.expiresAt && old.expiresAt < until ? old.expiresAt : until
  if (end <= now) {
    tx.delete(apiKeys).where(isThis).run()
    return null
  }
  tx.update(apiKeys).set({ expiresAt: end }).where(isThis).run()
  return end
}

/** Deletes a key; it stops working at once. @throws AppError `not_found` for an unknown key and for another user's. */
export async function deleteKey(db: Db, userId: string, id: string): Promise<void> {
  const { changes } = await write(db, (tx) =>
    tx
      .delete(apiKeys)
      .where(and(eq(apiKeys.id, id), eq(apiKeys.userId, userId)))
      .run(),
  )
  if (changes === 0) throw new AppError('not_found', 'Key not found')
}

/** Deletes all keys of a user in the caller's transaction. @returns the number of keys. */
export function deleteAllKeys(tx: Tx, userId: string): number {
  return tx.delete(apiKeys).where(eq(apiKeys.userId, userId)).run().changes
}
