import { and, count, desc, eq, gt, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { readPage } from '../../../db/pages/read-page.ts'
import { agents } from '../../agents/registry/tables.ts'
import { apiKeys } from '../../people/keys/tables.ts'
import { identities } from '../../people/sign-in/tables.ts'
import { sessions, type UserRow, users } from '../../people/users/tables.ts'
import { type AccountRules, isAdmin } from '../../people/users/users.ts'
import type { AdminUser, AdminUserDetail, UserQuery } from './schemas.ts'

/** A page of accounts, newest first. @throws AppError `invalid` when `after` is no account. */
export function listUsers(
  deps: { db: Db; rules: AccountRules },
  { search, limit, after }: UserQuery,
): { users: AdminUser[]; next: string | null } {
  const selection = deps.db
    .select()
    .from(users)
    .where(and(after === undefined ? undefined : isOlderThan(deps.db, after), matches(search)))
    .orderBy(desc(users.createdAt), desc(users.id))
  const { rows, last } = readPage(selection, limit)
  return {
    users: rows.map((row) => toAdminUser(row, deps.rules)),
    next: last?.id ?? null,
  }
}

/** @throws AppError `not_found`. */
export function getUserDetail(deps: { db: Db; clock: Clock; rules: AccountRules }, id: string): AdminUserDetail {
  const row = getUser(deps.db, id)
  const isLive = and(eq(sessions.userId, id), gt(sessions.expiresAt, deps.clock.now()))
  return {
    ...toAdminUser(row, deps.rules),
    hasPassword: row.passwordHash !== null,
    sessions: deps.db.select({ rows: count() }).from(sessions).where(isLive).get()?.rows ?? 0,
    apiKeys: deps.db.select({ rows: count() }).from(apiKeys).where(eq(apiKeys.userId, id)).get()?.rows ?? 0,
    agents: deps.db.select({ rows: count() }).from(agents).where(eq(agents.ownerId, id)).get()?.rows ?? 0,
    identities: deps.db
      .select({ provider: identities.provider, email: identities.email })
      .from(identities)
      .where(eq(identities.userId, id))
      .all(),
  }
}

/** @throws AppError `not_found`. */
export function getUser(db: Db, id: string): UserRow {
  const row = db.select().from(users).where(eq(users.id, id)).get()
  if (!row) throw new AppError('not_found', 'User not found')
  return row
}

export function toAdminUser(row: UserRow, rules: AccountRules): AdminUser {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    plan: row.plan,
    subscriptionStatus: row.subscriptionStatus,
    credits: row.credits,
    isAdmin: isAdmin(row, rules),
    emailVerified: row.emailVerifiedAt !== null,
    twoFactorEnabled: row.twoFactorEnabledAt !== null,
    disabled: row.disabledAt !== null,
    externalSignInDisabled: row.externalSignInDisabledAt !== null,
    createdAt: row.createdAt.toISOString(),
  }
}

function isOlderThan(db: Db, id: string): SQL | undefined {
  const last = db.select({ createdAt: users.createdAt }).from(users).where(eq(users.id, id)).get()
  if (!last) throw new AppError('invalid', 'after is not an account')
  return or(lt(users.createdAt, last.createdAt), and(eq(users.createdAt, last.createdAt), lt(users.id, id)))
}

/** Part of an address or a name; signs that mean something to LIKE mean themselves here. */
function matches(search: string): SQL | undefined {
  if (search === '') return undefined
  return sql`(instr(${users.email}, ${search}) > 0 OR instr(lower(${users.name}), ${search}) > 0)`
}
