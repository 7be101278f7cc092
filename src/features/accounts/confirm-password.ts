import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Db } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { Passwords } from './passwords.ts'
import type { UserRow } from './tables.ts'
import { forgetFailures, returnAttempt, type Throttle, takeAttempt } from './throttle.ts'

/**
 * Asks for the password again before something that a stolen session must not do. Accounts without one pass.
 * @throws AppError `invalid` without `password`, `unauthenticated` for a wrong one, `limited` after ten of those.
 */
export async function confirmPassword(
  deps: { db: Db; clock: Clock; passwords: Passwords },
  user: Pick<UserRow, 'id' | 'passwordHash'>,
  password: string | undefined,
): Promise<void> {
  if (user.passwordHash === null) return
  if (!password) throw new AppError('invalid', 'Password required')
  const throttle: Throttle = { key: `confirm:account:${user.id}`, limit: 10, windowMs: 15 * 60_000 }
  await takeAttempt(deps, throttle)
  const isRight = await deps.passwords.verify(password, user.passwordHash).catch(async (error) => {
    await write(deps.db, (tx) => returnAttempt(tx, throttle))
    throw error
  })
  if (!isRight) throw new AppError('unauthenticated', 'Current password is incorrect')
  await write(deps.db, (tx) => forgetFailures(tx, throttle.key))
}
