import { inLanes } from '../../../core/concurrency/in-lanes.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { expireApproval } from './approve.ts'
import { listDue } from './payments.ts'
import type { PaymentRow } from './tables.ts'
import { advanceTransfer, type TransferDeps } from './transfer.ts'

const EVERY_MS = 2000
const BATCH = 50
const LANES = 4

/** Looks after a payment that is no transfer of ours: nothing is ordered twice for it. */
type SettleElsewhere = (payment: PaymentRow) => Promise<unknown>

export type SettlePaymentsDeps = TransferDeps & { settleElsewhere: SettleElsewhere }

/** Takes on what a crash, a slow chain or a missing answer left open, and denies what nobody approved in time. */
export function settlePaymentsJob(deps: SettlePaymentsDeps): RepeatingJob {
  return { name: 'wallets.settle', everyMs: EVERY_MS, run: () => settlePayments(deps) }
}

/** One round over what is due. What goes wrong with one payment is logged, and holds up no other. */
export async function settlePayments(deps: SettlePaymentsDeps): Promise<void> {
  if (deps.standsBack) return
  await inLanes(listDue(deps.db, deps.clock.now(), BATCH), LANES, async (payment) => {
    try {
      await settleOne(deps, payment)
    } catch (error) {
      deps.log.warn({ payment: payment.id, error: errorMessage(error) }, 'a payment could not be looked after')
    }
  })
}

async function settleOne(deps: SettlePaymentsDeps, payment: PaymentRow): Promise<void> {
  if (payment.status === 'awaiting_approval') await expireApproval(deps, payment)
  else if (payment.kind === 'transfer') await advanceTransfer(deps, payment.id, true)
  else await deps.settleElsewhere(payment)
}
