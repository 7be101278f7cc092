import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { getWallet, type WalletOwner } from './create.ts'
import { changePayment } from './payments.ts'
import { FROZEN, toRecipientKey } from './policy.ts'
import type { PolicyChange } from './schemas.ts'
import { managedWallets, type WalletRow, walletPayments } from './tables.ts'

type ChangeDeps = { db: Db; clock: Clock }

/** Sets the given fields and leaves the rest. Freezing ends payments that are not signed yet. @throws AppError `not_found`. */
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
    if (frozenAt) endUnsent(tx, deps, wallet.id)
    return tx.update(managedWallets).set(columns).where(eq(managedWallets.id, wallet.id)).returning().get()
  })
}

/** Freezes every wallet of an account, until its owner unfreezes them, and ends payments that are not signed yet. */
export function freezeWallets(tx: Tx, deps: { clock: Clock }, userId: string): void {
  const frozen = tx
    .update(managedWallets)
    .set({ frozenAt: deps.clock.now() })
    .where(eq(managedWallets.userId, userId))
    .returning({ id: managedWallets.id })
    .all()
  for (const { id } of frozen) endUnsent(tx, deps, id)
}

/** Without this, an approval given before the freeze would pay again after the wallet is unfrozen. */
function endUnsent(tx: Tx, deps: { clock: Clock }, walletId: string): void {
  const now = deps.clock.now()
  const isUnsent = and(eq(walletPayments.walletId, walletId), eq(walletPayments.status, 'created'))
  const unsent = tx.select({ id: walletPayments.id }).from(walletPayments).where(isUnsent).all()
  const ended = { status: 'failed', reason: FROZEN, settledAt: now, finalAt: now, checkAt: null } as const
  for (const { id } of unsent) changePayment(tx, deps, id, ['created'], ended)
}
