import { eq, sql } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { findPlan, NO_PLAN, PLANS } from '../../accounts/plans/plans.ts'
import { users } from '../../accounts/users/tables.ts'
import { type AccountRules, identityColumns, isAdmin } from '../../accounts/users/users.ts'
import { agentStorage, userStorage } from './tables.ts'

/** Bytes that an account uses and may use. */
type StorageUse = { used: number; limit: number }

/**
 * Storage by plan: messages, memory, mail and workspaces of all agents of an account. Agents of the operator (`ownerId`
 * is null) have no limit.
 */
export type StorageQuota = {
  /** Returns null for an unknown account. */
  read(db: Db, userId: string): StorageUse | null
  /** @throws AppError `storage_full` STORAGE_FULL {used, limit} when `addedBytes` more would exceed the limit. */
  requireQuota(db: Db, ownerId: string | null, addedBytes: number): void
  /**
   * Runs `store` in the caller's transaction. An account above its limit may still shrink.
   * @throws AppError `storage_full` STORAGE_FULL {used, limit} when `store` exceeded the limit; the transaction must
   * fail then.
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
    // Unpaid accounts keep their data for a while, so the plan counts, not its payment.
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

/** Sets a user's extra storage in bytes. */
export function setGrantedStorage(tx: Tx, userId: string, grantedBytes: number): void {
  tx.insert(userStorage)
    .values({ userId, grantedBytes })
    .onConflictDoUpdate({ target: userStorage.userId, set: { grantedBytes } })
    .run()
}
/** Owner of a working tree; null for the operator's shared one. */
type Tree = { agent: { id: string; ownerId: string | null } | null }

/**
 * Runs `change`, which adds up to `addedBytes` to a working tree. They are reserved first, so that concurrent changes
 * cannot use the same free space, until the next measurement.
 * @throws AppError `storage_full` before any change, and as `change`.
 */
export async function withinWorkspaceQuota<T>(
  { db, storage }: { db: Db; storage: Pick<StorageQuota, 'within'> },
  { agent }: Tree,
  addedBytes: number,
  change: () => Promise<T>,
): Promise<T> {
  if (!agent) return change()
  await write(db, (tx) => storage.within(tx, agent.ownerId, () => addBytes(tx, agent.id, addedBytes)))
  try {
    return await change()
  } catch (error) {
    await write(db, (tx) => addBytes(tx, agent.id, -addedBytes))
    throw error
  }
}

function addBytes(tx: Tx, agentId: string, bytes: number): void {
  const workspaceBytes = sql`max(0, ${agentStorage.workspaceBytes} + ${bytes})`
  tx.update(agentStorage).set({ workspaceBytes, measuredAt: null }).where(eq(agentStorage.agentId, agentId)).run()
}
