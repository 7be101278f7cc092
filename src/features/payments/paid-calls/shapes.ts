import type { TokenChains } from '../wallets/balance.ts'
import { toPayment } from '../wallets/shapes.ts'
import type { PaidCallOutcome } from './call.ts'

/** What the other side said, without what it said of the payment. */
export function toCallAnswer({ tokenChains }: { tokenChains: TokenChains }, { answer, payment }: PaidCallOutcome) {
  return {
    response: answer && { status: answer.status, headers: answer.headers, body: answer.body },
    payment: payment && toPayment(tokenChains, payment),
  }
}
