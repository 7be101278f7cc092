import { inArray, isNull } from 'drizzle-orm'
import type { RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { agents } from '../registry/tables.ts'
import { residence } from './tables.ts'

/** Returns whether an agent of this installation ever ran in a container; it may have been deleted since. */
export function hasRunContainers(db: Db): boolean {
  const inContainer = inArray(agents.runtime, ['docker', 'swarm'])
  if (db.select({ id: agents.id }).from(agents).where(inContainer).limit(1).get()) return true
  return Boolean(db.select({ since: residence.ranContainersAt }).from(residence).get()?.since)
}

/** Records that this installation has run containers, when `runtime` does. */
export function noteContainers(tx: Tx, runtime: RuntimeName, now: Date): void {
  if (runtime === 'process') return
  tx.update(residence).set({ ranContainersAt: now }).where(isNull(residence.ranContainersAt)).run()
}
