import { asc, eq, inArray, isNotNull } from 'drizzle-orm'
import { systemClock } from '../../core/clock.ts'
import { type Config, readConfig } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import { createLog } from '../../core/log.ts'
import { isServed } from '../../db/instance-lock.ts'
import type { Db } from '../../db/open.ts'
import { readAccountRules } from '../../features/accounts/service-credentials/service-credentials.ts'
import { createSessions } from '../../features/accounts/sessions/sessions.ts'
import { type UserRow, users } from '../../features/accounts/users/tables.ts'
import { agents } from '../../features/agents/registry/tables.ts'
import { companionOf, SESSION_COOKIE } from '../../http/sessions/cookie.ts'
import { findServerAddress } from '../../server/server-address.ts'
import { withDatabase } from '../database.ts'
import { NotRunningError } from '../exit.ts'
import { readEnvironment } from '../settings/environment.ts'
import { createServerClient, type ServerClient } from './client.ts'

const MAX_LISTED = 5

/**
 * Signs in to the server that runs on `DATA_DIR` for the duration of the command; read access to that folder already
 * grants full control. `email` selects the account, by default the only one.
 * @throws NotRunningError without a server, AppError `not_found` without that account, `invalid` when several match.
 */
export async function withLocalSession<T>(
  email: string | undefined,
  work: (server: ServerClient) => Promise<T>,
): Promise<T> {
  return withSessionsOf(
    (db) => [findAccount(db, email)],
    // Not null: the lookup throws without an account.
    ([server]) => work(server as ServerClient),
  )
}

/** Like `withLocalSession`, with one session for each account that has agents. */
export function withOwnersSessions<T>(work: (servers: readonly ServerClient[]) => Promise<T>): Promise<T> {
  return withSessionsOf(
    (db) =>
      db
        .select()
        .from(users)
        .where(inArray(users.id, ownersOf(db)))
        .all(),
    work,
  )
}

function ownersOf(db: Db) {
  return db.select({ id: agents.ownerId }).from(agents).where(isNotNull(agents.ownerId))
}

async function withSessionsOf<T>(
  find: (db: Db) => readonly UserRow[],
  work: (servers: readonly ServerClient[]) => Promise<T>,
): Promise<T> {
  const { web } = requireServer(readConfig(readEnvironment()))
  return withDatabase(async ({ db }, config) => {
    const rules = readAccountRules(db, config)
    const sessions = createSessions({ db, clock: systemClock, log: createLog('silent'), rules })
    const tokens: string[] = []
    try {
      for (const user of find(db))
        tokens.push(await sessions.create(user.id, { userAgent: 'stead, the command line', address: null }))
      return await work(tokens.map((token) => createServerClient(web, { cookie: toCookie(token) })))
    } finally {
      for (const token of tokens) await sessions.end(token)
    }
  })
}

function toCookie(token: string): string {
  return `${SESSION_COOKIE}=${token}; __Host-${SESSION_COOKIE}=${companionOf(token)}`
}

/**
 * Checks that the server is running.
 * @throws NotRunningError: a killed server leaves its address behind, where another program may listen now.
 */
function requireServer({ dataDir }: Config) {
  const address = isServed(dataDir) ? findServerAddress(dataDir) : null
  if (address) return address
  throw new NotRunningError(
    `no Stead runs on DATA_DIR ${dataDir}: start it with stead serve, or name another by STEAD_URL and STEAD_KEY`,
  )
}

function findAccount(db: Db, email: string | undefined): UserRow {
  if (email !== undefined) {
    const row = db.select().from(users).where(eq(users.email, email.toLowerCase())).get()
    if (row) return row
    throw new AppError('not_found', `No account has the address ${email}`)
  }
  const [row, ...others] = db.select().from(users).orderBy(asc(users.createdAt)).limit(MAX_LISTED).all()
  if (!row) throw new AppError('not_found', 'There is no account yet: stead user create makes one')
  if (others.length === 0) return row
  throw new AppError('invalid', `--as: say whose, such as ${[row, ...others].map((one) => one.email).join(', ')}`)
}
