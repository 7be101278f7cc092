import type { Clock } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { networkKey } from '../../../http/address.ts'
import { proofRequired } from '../bot-detection/bot-detection.ts'
import { countFailure, hasAttempt } from '../lockout/throttle.ts'

/** Accounts that one network, loopback included, may open an hour before each further one takes a proof of work. */
const FREE_SIGN_UPS = 100
const HOUR_MS = 3_600_000

/** Returns whether so many accounts were opened from the network of `address` that the next one takes a proof of work. */
export function isCrowded({ db, clock }: { db: Db; clock: Clock }, address: string | null): boolean {
  return !hasAttempt(db, clock, throttleOf(address))
}

/**
 * Counts a new account in the closure that creates it: many requests at once may have passed `isCrowded` before.
 * @throws AppError `forbidden` PROOF_REQUIRED when a proof is needed and none was brought.
 */
export function countSignUp(tx: Tx, { clock }: { clock: Clock }, { address, hasProof }: SignUpOrigin): void {
  const throttle = throttleOf(address)
  if (!hasProof && !hasAttempt(tx, clock, throttle)) throw proofRequired()
  countFailure(tx, clock, throttle)
}

/** `hasProof`: the caller did the work, or the operator asks nobody for it. */
export type SignUpOrigin = { address: string | null; hasProof: boolean }

function throttleOf(address: string | null) {
  return { key: `sign-ups:${networkKey(address)}`, limit: FREE_SIGN_UPS, windowMs: HOUR_MS }
}
