import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../people/audit/audit.ts'
import { getWallet, type WalletOwner } from './create.ts'
import { toRecipientKey } from './policy.ts'
import type { PolicyChange } from './schemas.ts'
import { managedWallets, type WalletRow } from './tables.ts'

type ChangeDeps = { db: Db; clock: Clock }

/** Sets what is given, and leaves the rest. @throws AppError `not_found`. */
export function changePolicy(deps: ChangeDeps, owner: WalletOwner, change: PolicyChange): Promise<WalletRow> {
  const now = deps.clock.now()
  return write(deps.db, (tx) => {
    const wallet = getWallet(tx, owner)
    const { perPayment, perDay, perMonth, approvalAbove, recipients, frozen } = change
    const frozenAt = frozen ? (wallet.frozenAt ?? now) : null
    const columns = {
      ...(perPayment !== undefined && { perPaymentMicroUsd: perPayment }),
      ...(perDay !== undefined && { perDayMicroUsd: perDay }),
      ...(perMonth !== undefined && { perMonthMicroUsd: perMonth }),
      ...(approvalAbove !== undefined && { approvalAboveMicroUsd: approvalAbove }),
      ...(recipients !== undefined && { recipients: recipients && [...new Set(recipients.map(toRecipientKey))] }),
      ...(frozen !== undefined && { frozenAt }),
    }
    if (Object.keys(columns).length === 0) return wallet
    recordAudit(tx, { actor: owner.userId, action: 'wallet.policy', target: wallet.id, detail: columns }, now)
    return tx.update(managedWallets).set(columns).where(eq(managedWallets.id, wallet.id)).returning().get()
  })
}

/** Stops every wallet of an account, until its owner says otherwise. */
export function freezeWallets(tx: Tx, userId: string, now: Date): void {
  tx.update(managedWallets).set({ frozenAt: now }).where(eq(managedWallets.userId, userId)).run()
}
