import { asc, eq } from 'drizzle-orm'
import { findServerAddress } from '../../apps/server-address.ts'
import { systemClock } from '../../core/clock.ts'
import { type Config, readConfig } from '../../core/config.ts'
import { AppError } from '../../core/errors.ts'
import { createLog } from '../../core/log.ts'
import { isServed } from '../../db/instance-lock.ts'
import type { Db } from '../../db/open.ts'
import { createSessions } from '../../features/people/sessions/sessions.ts'
import { type UserRow, users } from '../../features/people/users/tables.ts'
import { companionOf, SESSION_COOKIE } from '../../http/sessions/cookie.ts'
import { withDatabase } from '../database.ts'
import { NotRunningError } from '../exit.ts'
import { readEnvironment } from '../settings/environment.ts'
import { createServerClient, type ServerClient } from './client.ts'

const MAX_LISTED = 5

/**
 * Signs in at the server that runs on `DATA_DIR`, with a session that ends with the command: whoever may read that folder
 * may do all of it anyway. `email` says as whom; without one the only account is meant.
 * @throws NotRunningError without a server, AppError `not_found` without that account, `invalid` when several could be meant.
 */
export async function withLocalSession<T>(
  email: string | undefined,
  work: (server: ServerClient) => Promise<T>,
): Promise<T> {
  const { web } = requireServer(readConfig(readEnvironment()))
  return withDatabase(async ({ db }, config) => {
    const user = findAccount(db, email)
    const rules = { adminEmails: config.adminEmails, requiresVerifiedEmail: config.mail.smtpUrl !== undefined }
    const sessions = createSessions({ db, clock: systemClock, log: createLog('silent'), rules })
    const token = await sessions.create(user.id, { userAgent: 'stead, the command line', address: null })
    try {
      const cookie = `${SESSION_COOKIE}=${token}; __Host-${SESSION_COOKIE}=${companionOf(token)}`
      return await work(createServerClient(web, { cookie }))
    } finally {
      await sessions.end(token)
    }
  })
}

/** @throws NotRunningError: a killed server leaves its address behind, and who listens there now is a stranger. */
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
