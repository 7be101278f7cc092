import { count, eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { Passwords } from './passwords.ts'
import type { RegisterRequest } from './schemas.ts'
import { type UserRow, users } from './tables.ts'

export type SignUp = {
  mode: 'open' | 'invite' | 'closed'
  /** At home the machine's owner signs up first and has no plan to buy (README, Decisions). */
  firstUserOwnsPlan: boolean
  /** Addresses of wallets are not for passwords (rulings, 5). */
  walletEmailDomain: string
}
export type RegisterDeps = { db: Db; clock: Clock; passwords: Passwords; signUp: SignUp }

/**
 * Creates an account; the caller signs in afterwards.
 * @throws AppError `forbidden` when sign-up is closed, `conflict` when the address is taken, `invalid` for a wallet's address.
 */
export async function register(deps: RegisterDeps, request: RegisterRequest): Promise<UserRow> {
  if (deps.signUp.mode === 'closed') throw new AppError('forbidden', 'Sign-up is closed')
  if (isWalletEmail(request.email, deps.signUp.walletEmailDomain)) throw new AppError('invalid', 'Invalid email format')
  requireFree(deps.db, request.email)
  const account = {
    email: request.email,
    name: request.name || request.email,
    passwordHash: await deps.passwords.hash(request.password),
  }
  return write(deps.db, (tx) => {
    requireFree(tx, account.email)
    return insertUser(tx, account, {
      now: deps.clock.now(),
      plan: deps.signUp.firstUserOwnsPlan && isEmpty(tx) ? 'network' : null,
    })
  })
}

/** Adds the row; a `plan` given here counts as an active subscription. */
export function insertUser(
  tx: Tx,
  account: Pick<UserRow, 'email' | 'name' | 'passwordHash'>,
  start: { now: Date; plan: UserRow['plan'] | null },
): UserRow {
  return tx
    .insert(users)
    .values({
      ...account,
      id: newId('usr'),
      plan: start.plan ?? 'free',
      subscriptionStatus: start.plan ? 'active' : 'inactive',
      createdAt: start.now,
      updatedAt: start.now,
    })
    .returning()
    .get()
}

/** @throws AppError `conflict` when an account has this address. */
export function requireFree(db: Db, email: string): void {
  const taken = db.select({ id: users.id }).from(users).where(eq(users.email, email)).get()
  if (taken) throw new AppError('conflict', 'User already exists')
}

function isWalletEmail(email: string, domain: string): boolean {
  return /^0x[0-9a-f]{40}@/.test(email) && email.endsWith(`@${domain}`)
}

function isEmpty(db: Db): boolean {
  return db.select({ users: count() }).from(users).get()?.users === 0
}
