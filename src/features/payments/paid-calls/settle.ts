import { z } from 'zod'
import { toAddress } from '../../../adapters/chain/token-chain.ts'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { changeOrReread } from '../wallets/payments.ts'
import type { PaymentRow } from '../wallets/tables.ts'
import type { TransferDeps } from '../wallets/transfer.ts'

type SettleDeps = Pick<TransferDeps, 'db' | 'clock' | 'tokenChains'>

const Signed = z.object({ authorization: z.object({ nonce: z.string(), validBefore: z.number() }) })
const PAUSE_MS = 15_000
const MAX_PAUSE_MS = 300_000

/**
 * Finds out on the chain whether a seller has used what was signed for it. Unused and over, it has failed: nobody can use
 * it any more. `transactionHash` is where the seller says that it did.
 */
export async function settleAuthorization(
  deps: SettleDeps,
  payment: PaymentRow,
  transactionHash: string | null = payment.transactionHash,
): Promise<PaymentRow> {
  const now = deps.clock.now()
  const change = (next: Partial<PaymentRow>) => write(deps.db, (tx) => changeOrReread(tx, deps, payment, next))
  const ended = { settledAt: now, finalAt: now, checkAt: null }
  if (payment.status === 'created') return change({ status: 'failed', reason: 'Nothing was signed for it', ...ended })
  const found = await findOnChain(deps, payment)
  const known = transactionHash === null ? {} : { transactionHash }
  if (found === 'used') return change({ status: 'succeeded', reason: null, ...known, ...ended })
  if (found === 'over')
    return change({ status: 'failed', reason: 'The seller did not take the money in time', ...ended })
  const reason = 'The seller has not taken the money yet'
  return change({ status: 'unknown', reason, ...toNextLook(payment, now), ...known })
}

function toNextLook({ checks }: PaymentRow, now: Date) {
  const pauseMs = Math.min(MAX_PAUSE_MS, PAUSE_MS * 2 ** Math.min(checks, 5))
  return { checks: checks + 1, checkAt: new Date(now.getTime() + pauseMs) }
}

async function findOnChain(
  { tokenChains }: SettleDeps,
  { detail, fromAddress }: PaymentRow,
): Promise<'used' | 'over' | 'open'> {
  const { nonce, validBefore } = Signed.parse(detail).authorization
  try {
    const owner = toAddress(fromAddress ?? '')
    const { isUsed, chainTime } = await tokenChains.USDC.findAuthorization(owner, `0x${nonce.slice(2)}`)
    if (isUsed) return 'used'
    return chainTime >= validBefore ? 'over' : 'open'
  } catch (error) {
    if (error instanceof AppError) return 'open'
    throw error
  }
}
