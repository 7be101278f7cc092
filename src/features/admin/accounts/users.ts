import { and, count, eq, gt, inArray, type SQL, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { inRanges, isBehind, type NewestFirst, newestFirst, type PagePlace, readPage } from '../../../db/pages.ts'
import { apiKeys } from '../../accounts/keys/tables.ts'
import { identities } from '../../accounts/sign-in/tables.ts'
import { sessions, type UserRow, users } from '../../accounts/users/tables.ts'
import { type AccountRules, isAdmin } from '../../accounts/users/users.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { AdminUser, AdminUserDetail, UserQuery } from './schemas.ts'

/** Sort order of account lists. */
const USERS: NewestFirst = { table: users, time: users.createdAt, id: users.id }

/**
 * Lists a page of accounts, newest first. A search runs in slices and yields to the event loop between them.
 * @throws AppError `invalid` when `after` is not an account; the reason of `signal`.
 */
export async function listUsers(
  deps: { db: Db; rules: AccountRules },
  { search, limit, after }: UserQuery,
  signal: AbortSignal,
): Promise<{ users: AdminUser[]; next: string | null }> {
  const from = after === undefined ? undefined : getPlace(deps.db, after)
  const condition =
    search === '' ? from && isBehind(USERS, from) : await findUsers(deps.db, { search, limit }, from, signal)
  const selection = deps.db
    .select()
    .from(users)
    .where(condition)
    .orderBy(...newestFirst(USERS))
  const { rows, last } = readPage(selection, limit)
  return {
    users: rows.map((row) => toAdminUser(row, deps.rules)),
    next: last?.id ?? null,
  }
}

/** Returns an account with its data counts. @throws AppError `not_found`. */
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

/** Returns an account's row. @throws AppError `not_found`. */
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

/** Finds at most `limit + 1` accounts, so the caller knows whether there is another page. */
async function findUsers(
  db: Db,
  { search, limit }: Pick<UserQuery, 'search' | 'limit'>,
  from: PagePlace | undefined,
  signal: AbortSignal,
): Promise<SQL> {
  const ids: string[] = []
  for await (const isInRange of inRanges(db, USERS, from, signal)) {
    const found = db
      .select({ id: users.id })
      .from(users)
      .where(and(isInRange, matches(search)))
      .orderBy(...newestFirst(USERS))
      .limit(limit + 1 - ids.length)
    ids.push(...found.all().map(({ id }) => id))
    if (ids.length > limit) break
  }
  return inArray(users.id, ids)
}

/** Matches a part of an address or a name; escapes the wildcards of LIKE. */
function matches(search: string): SQL {
  return sql`(instr(${users.email}, ${search}) > 0 OR instr(lower(${users.name}), ${search}) > 0)`
}

function getPlace(db: Db, id: string): PagePlace {
  const place = db.select({ time: users.createdAt, id: users.id }).from(users).where(eq(users.id, id)).get()
  if (!place) throw new AppError('invalid', 'after is not an account')
  return place
}
