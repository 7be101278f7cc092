import { eq } from 'drizzle-orm'
import type { Hex } from 'viem'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { openKey } from './create.ts'
import { managedWallets } from './tables.ts'

/**
 * The key of a wallet, whoever it belongs to, for the operator at the command line alone; that it was taken is in the audit
 * log before it is told. @throws AppError `not_found` for an address that the platform does not keep.
 */
export function exportKey(deps: { db: Db; clock: Clock; sealer: Sealer }, address: string): Promise<Hex> {
  return write(deps.db, (tx) => {
    const isThis = eq(managedWallets.address, address.toLowerCase())
    const wallet = tx.select().from(managedWallets).where(isThis).get()
    if (!wallet) throw new AppError('not_found', `No wallet has the address ${address}`)
    const detail = { address: wallet.address }
    recordAudit(tx, { actor: 'cli', action: 'wallet.exported', target: wallet.id, detail }, deps.clock.now())
    return openKey(deps.sealer, wallet)
  })
}
