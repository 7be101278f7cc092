import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Tx } from '../../../db/open.ts'
import { copyPaysNothing } from './order.ts'
import { requireWithinPolicy } from './policy.ts'
import { managedWallets, type PaymentRow } from './tables.ts'

export type SendableDeps = { clock: Clock; standsBack: boolean }

/**
 * Checks an ordered payment against the wallet's current policy. Every spender calls it in the closure that marks the payment
 * as `sent`: the wallet may have been frozen, or its limits and recipients changed, since the order or the approval.
 * @throws AppError `unavailable` in a copy of an installation; `forbidden` as `requireWithinPolicy`, or APPROVAL_REQUIRED
 * when the payment now needs an approval that its owner never gave.
 */
export function requireSendable(tx: Tx, { clock, standsBack }: SendableDeps, payment: PaymentRow): void {
  if (standsBack) throw copyPaysNothing()
  if (payment.walletId === null) return
  const wallet = tx.select().from(managedWallets).where(eq(managedWallets.id, payment.walletId)).get()
  if (!wallet) throw new Error(`Payment ${payment.id} has no wallet`)
  const { needsApproval } = requireWithinPolicy(tx, wallet, payment, clock.now())
  if (needsApproval && payment.decidedBy === null) {
    throw new AppError('forbidden', 'The policy of this wallet now requires an approval for this amount', {
      code: 'APPROVAL_REQUIRED',
    })
  }
}
