import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { changePayment, getOwnPayment } from './payments.ts'
import type { PaymentRow } from './tables.ts'

/**
 * The owner says what became of a payment of which the other gateway cannot tell. What a chain can tell is not theirs to say.
 * @throws AppError `not_found`; `conflict` for a payment that is not `unknown`, and for one that a chain tells of.
 */
export function resolvePayment(
  deps: { db: Db; clock: Clock },
  userId: string,
  id: string,
  status: 'succeeded' | 'failed',
): Promise<PaymentRow> {
  const now = deps.clock.now()
  return write(deps.db, (tx) => {
    const { kind, walletId } = getOwnPayment(tx, userId, id)
    if (kind !== 'upstream')
      throw new AppError('conflict', 'The chain itself tells of this payment', { code: 'NOT_YOURS_TO_SAY' })
    const ended = { settledAt: now, finalAt: now, checkAt: null, decidedBy: userId }
    const resolved = changePayment(tx, deps, id, ['unknown'], { status, reason: 'Its owner said so', ...ended })
    if (!resolved) throw new AppError('conflict', 'The outcome of this payment is known', { code: 'NOT_UNKNOWN' })
    const detail = { paymentId: id, status }
    recordAudit(tx, { actor: userId, action: 'wallet.payment.resolved', target: walletId ?? id, detail }, now)
    return resolved
  })
}
