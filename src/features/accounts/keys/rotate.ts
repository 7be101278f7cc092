import { and, eq } from 'drizzle-orm'
import { type Clock, toMonth } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { insertKey, newKey, requireKeyQuota } from './create.ts'
import { getKey } from './list.ts'
import { type ApiKeyRow, apiKeys } from './tables.ts'

/** Counts what one key has used in a month (`YYYY-MM`, UTC) for another as well. */
export type CopyKeyUsage = (tx: Tx, from: string, to: string, month: string) => void
export type RotateDeps = { db: Db; clock: Clock; copyKeyUsage: CopyKeyUsage }

const HOUR_MS = 3_600_000

/** `replacedUntil` is null when the old key works no more. */
export type Rotation = { row: ApiKeyRow; key: string; replacedUntil: Date | null }

/**
 * Makes a key with the name, scopes, limits and lifetime of `id`, and with what that has used this month. The old one works on for `overlapHours` or is deleted at once.
 * During an overlap there may be 26 keys.
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
    const { name, scopes, budgetMicroUsd, tokensPerMonth, models, requestsPerMinute } = old
    const limits = { scopes, budgetMicroUsd, tokensPerMonth, models, requestsPerMinute }
    const row = insertKey(tx, key, { userId, name, ...limits, createdAt: now, expiresAt })
    deps.copyKeyUsage(tx, old.id, row.id, toMonth(now))
    return { row, key, replacedUntil: retire(tx, old, new Date(now.getTime() + overlapHours * HOUR_MS), now) }
  })
}

/** An overlap never makes a key live longer than it would have. */
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
