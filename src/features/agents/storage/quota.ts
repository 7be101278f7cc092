import { eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { findPlan, NO_PLAN, PLANS } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'
import { type AccountRules, identityColumns, isAdmin } from '../../accounts/users/users.ts'
import { userStorage } from './tables.ts'

/** What an account has stored and may store, in bytes. */
export type StorageUse = { used: number; limit: number }

/**
 * Storage by plan (decisions, 50): messages, memory, mail and workspaces of all agents of an account. Agents of the operator,
 * which nobody owns (`ownerId` is null), have no limit.
 */
export type StorageQuota = {
  /** Null for no account. */
  read(db: Db, userId: string): StorageUse | null
  /** @throws AppError `storage_full` STORAGE_FULL {used, limit} when `addedBytes` more would exceed the limit. */
  requireQuota(db: Db, ownerId: string | null, addedBytes: number): void
  /**
   * Runs `store` in the caller's closure and returns its result. An account above its limit may still store less than before.
   * @throws AppError `storage_full` STORAGE_FULL {used, limit} when `store` has exceeded the limit: the closure must not go
   * on then.
   */
  within<T>(tx: Tx, ownerId: string | null, store: () => T): T
}

export function createStorageQuota({ rules }: { rules: AccountRules }): StorageQuota {
  const read = (db: Db, userId: string): StorageUse | null => {
    const row = db
      .select({ ...identityColumns, used: userStorage.usedBytes, granted: userStorage.grantedBytes })
      .from(users)
      .leftJoin(userStorage, eq(userStorage.userId, users.id))
      .where(eq(users.id, userId))
      .get()
    if (!row) return null
    // What is stored stays for a while when a subscription is not paid: the plan counts here, not its payment.
    const plan = isAdmin(row, rules) ? PLANS.network : (findPlan(db, row.plan) ?? NO_PLAN)
    return { used: row.used ?? 0, limit: plan.storageBytes + (row.granted ?? 0) }
  }
  const readOf = (db: Db, ownerId: string | null) => (ownerId === null ? null : read(db, ownerId))

  return {
    read,
    requireQuota(db, ownerId, addedBytes) {
      const use = readOf(db, ownerId)
      if (use && use.used + addedBytes > use.limit) throw storageFull(use)
    },
    within(tx, ownerId, store) {
      const before = readOf(tx, ownerId)
      const result = store()
      const after = readOf(tx, ownerId)
      if (before && after && after.used > after.limit && after.used > before.used) throw storageFull(before)
      return result
    },
  }
}

function storageFull({ used, limit }: StorageUse): AppError {
  const message = 'Your storage is full. Delete something, or choose a larger plan.'
  return new AppError('storage_full', message, { code: 'STORAGE_FULL', used, limit })
}
