import { eq } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import type { Db } from '../../db/open.ts'
import type { Passwords } from './passwords.ts'
import type { LoginRequest } from './schemas.ts'
import type { Sessions } from './sessions.ts'
import { type UserRow, users } from './tables.ts'

/**
 * Checks the password and starts a session. Unknown accounts, accounts without a password and wrong passwords cost the
 * same work and get the same answer.
 * @throws AppError `unauthenticated`.
 */
export async function login(
  deps: { db: Db; passwords: Passwords; sessions: Sessions },
  request: LoginRequest,
): Promise<{ user: UserRow; token: string }> {
  const user = deps.db.select().from(users).where(eq(users.email, request.email)).get()
  const isRight = await deps.passwords.verify(request.password, user?.passwordHash ?? null)
  if (!user || !isRight) throw new AppError('unauthenticated', 'Invalid email or password')
  return { user, token: await deps.sessions.create(user.id) }
}
