import { eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { PlanName } from '../plans/plans.ts'
import type { Passwords } from './passwords.ts'
import { insertUser, requireFree } from './register.ts'
import type { RegisterRequest } from './schemas.ts'
import { sessions, type UserRow, users } from './tables.ts'

export type AdministerDeps = { db: Db; clock: Clock; passwords: Passwords }

/**
 * Creates an account for someone else; sign-up may be closed. A `plan` counts as an active subscription.
 * @throws AppError `conflict` when the address is taken.
 */
export async function createAccount(
  deps: AdministerDeps,
  request: RegisterRequest,
  plan: PlanName | null,
): Promise<UserRow> {
  const passwordHash = await deps.passwords.hash(request.password)
  return write(deps.db, (tx) => {
    requireFree(tx, request.email)
    const account = { email: request.email, name: request.name || request.email, passwordHash }
    return insertUser(tx, account, { now: deps.clock.now(), plan })
  })
}

/** Gives an account a plan, as an active subscription. @throws AppError `not_found`. */
export async function setPlan(deps: { db: Db; clock: Clock }, email: string, plan: PlanName): Promise<UserRow> {
  return write(deps.db, (tx) =>
    updateUser(tx, email, { plan, subscriptionStatus: 'active', updatedAt: deps.clock.now() }),
  )
}

/** Sets a new password and ends all sessions. @throws AppError `not_found`. */
export async function resetPassword(deps: AdministerDeps, { email, password }: RegisterRequest): Promise<UserRow> {
  const passwordHash = await deps.passwords.hash(password)
  return write(deps.db, (tx) => {
    const user = updateUser(tx, email, { passwordHash, updatedAt: deps.clock.now() })
    tx.delete(sessions).where(eq(sessions.userId, user.id)).run()
    return user
  })
}

function updateUser(tx: Tx, email: string, change: Partial<UserRow>): UserRow {
  const user = tx.update(users).set(change).where(eq(users.email, email)).returning().get()
  if (!user) throw new AppError('not_found', `No account has the address ${email}`)
  return user
}
