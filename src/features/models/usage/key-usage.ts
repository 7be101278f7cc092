import { and, eq } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import { usageKeyMonths } from './tables.ts'

export type KeyUsage = { tokens: number; costMicroUsd: number; calls: number }

/** What a key has used in `month` (`YYYY-MM`, UTC). */
export function readKeyUsage(db: Db, keyId: string, month: string): KeyUsage {
  const { tokens, costMicroUsd, calls } = usageKeyMonths
  const row = db.select({ tokens, costMicroUsd, calls }).from(usageKeyMonths).where(isOf(keyId, month)).get()
  return row ?? { tokens: 0, costMicroUsd: 0, calls: 0 }
}

/** A key that replaces another goes on where that one stands, so that rotating resets no limit. */
export function copyKeyUsage(tx: Tx, from: string, to: string, month: string): void {
  const usage = readKeyUsage(tx, from, month)
  if (usage.calls > 0)
    tx.insert(usageKeyMonths)
      .values({ ...usage, keyId: to, month })
      .run()
}

function isOf(keyId: string, month: string) {
  return and(eq(usageKeyMonths.keyId, keyId), eq(usageKeyMonths.month, month))
}
