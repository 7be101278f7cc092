import type { Tx } from '../../../db/open.ts'
import { userStorage } from './tables.ts'

/** Sets what a user may store on top of the plan, in bytes. */
export function setGrantedStorage(tx: Tx, userId: string, grantedBytes: number): void {
  tx.insert(userStorage)
    .values({ userId, grantedBytes })
    .onConflictDoUpdate({ target: userStorage.userId, set: { grantedBytes } })
    .run()
}
