import { and, eq, gte, lte, type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { type CostSum, NO_COST, toShownCost } from './costs.ts'
import type { KeyDays } from './schemas.ts'
import { usageEndUserMonths, usageKeyDays, usageKeyMonths } from './tables.ts'

export type KeyUsage = { tokens: number; calls: number } & CostSum

/** Returns the usage of a key in `month` (`YYYY-MM`, UTC). */
export function readKeyUsage(db: Db, keyId: string, month: string): KeyUsage {
  const { tokens, costMicroUsd, calls, unpricedCalls } = usageKeyMonths
  const row = db
    .select({ tokens, costMicroUsd, calls, unpricedCalls })
    .from(usageKeyMonths)
    .where(isOf(keyId, month))
    .get()
  return row ?? { tokens: 0, calls: 0, ...NO_COST }
}

/** Lists the usage of a key by model and day (UTC), oldest first. */
export function listKeyDays(db: Db, userId: string, keyId: string, days: readonly string[]): KeyDays {
  const { day, model, calls, tokens, costMicroUsd, unpricedCalls } = usageKeyDays
  const rows = db
    .select({ day, model, calls, tokens, costMicroUsd, unpricedCalls })
    .from(usageKeyDays)
    .where(
      and(
        eq(usageKeyDays.userId, userId),
        eq(usageKeyDays.keyId, keyId),
        gte(day, days.at(0) ?? ''),
        lte(day, days.at(-1) ?? ''),
      ),
    )
    .orderBy(day, model)
    .all()
  return { days: [...days], rows: rows.map(toShownCost) }
}

export type KeyPart = KeyUsage & { day: string; model: string; keyId: string; keyName: string | null }

/** Lists the usage of a user's keys by model and day; deleted keys have no name. */
export function listKeyParts(db: Db, userId: string, isInSlice: SQL): KeyPart[] {
  const { day, model, keyId, calls, tokens, costMicroUsd, unpricedCalls } = usageKeyDays
  return db
    .select({ day, model, keyId, keyName: apiKeys.name, calls, tokens, costMicroUsd, unpricedCalls })
    .from(usageKeyDays)
    .leftJoin(apiKeys, eq(apiKeys.id, keyId))
    .where(and(eq(usageKeyDays.userId, userId), isInSlice))
    .all()
}

/** Copies the monthly usage of a key and its end users to a replacement key, so that rotation resets no limit. */
export function copyKeyUsage(tx: Tx, from: string, to: string, month: string): void {
  const usage = readKeyUsage(tx, from, month)
  if (usage.calls > 0)
    tx.insert(usageKeyMonths)
      .values({ ...usage, keyId: to, month })
      .run()
  const { userId, keyId, endUser, tokens, costMicroUsd, calls } = usageEndUserMonths
  const months = tx
    .select({
      userId,
      keyId: sql<string>`${to}`.as('key_id'),
      month: usageEndUserMonths.month,
      endUser,
      tokens,
      costMicroUsd,
      calls,
    })
    .from(usageEndUserMonths)
    .where(and(eq(userId, ownerOf(tx, to)), eq(keyId, from), eq(usageEndUserMonths.month, month)))
  tx.insert(usageEndUserMonths).select(months).run()
}

function ownerOf(tx: Tx, keyId: string) {
  return tx.select({ userId: apiKeys.userId }).from(apiKeys).where(eq(apiKeys.id, keyId))
}

function isOf(keyId: string, month: string) {
  return and(eq(usageKeyMonths.keyId, keyId), eq(usageKeyMonths.month, month))
}
