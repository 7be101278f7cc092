import { eq, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { StorageQuota } from './quota.ts'
import { agentStorage } from './tables.ts'

export type WorkspaceQuotaDeps = { db: Db; storage: Pick<StorageQuota, 'within'> }
/** Whose working tree it is; null is the common one, which belongs to the operator. */
export type Tree = { agent: { id: string; ownerId: string | null } | null }

/**
 * Runs `change`, which adds up to `addedBytes` to a working tree. They are counted before it begins, so that two changes at
 * once cannot use the same free space, and until the tree is measured, which is soon.
 * @throws AppError `storage_full`, and then nothing was done; what `change` throws.
 */
export async function withinWorkspaceQuota<T>(
  { db, storage }: WorkspaceQuotaDeps,
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
