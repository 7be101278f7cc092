import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { codeGuess, settleGuess, takeGuess } from '../lockout/guesses.ts'
import type { KnownDevices, Visitor } from '../lockout/known-devices.ts'
import type { UserRow } from '../users/tables.ts'
import { redeemSecondFactor, type TwoFactorDeps } from './two-factor.ts'

/**
 * Uses up a code of the authenticator or a recovery code of somebody who brought the first factor.
 * @throws AppError `unauthenticated` TWO_FACTOR_INVALID for a wrong code, `limited` after ten of those from one address or
 * device in a quarter of an hour, or thirty from anywhere in a day.
 */
export async function requireSecondFactor(
  deps: TwoFactorDeps & { knownDevices: KnownDevices },
  user: UserRow,
  code: string,
  visitor: Visitor,
): Promise<void> {
  const device = deps.knownDevices.find(visitor.markOf(user.id), user)
  const taken = await takeGuess(deps, codeGuess(user.id, visitor.address, device))
  if (!(await redeemSecondFactor(deps, user, code, visitor.address))) {
    throw new AppError('unauthenticated', 'Invalid two-factor code', { code: 'TWO_FACTOR_INVALID' })
  }
  await write(deps.db, (tx) => settleGuess(tx, taken))
}
