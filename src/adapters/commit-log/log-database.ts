import postgres from 'postgres'
import { errorMessage, StartupError } from '../../core/errors.ts'

/** Time limit of one call; the service answers 503 soon afterwards. */
const CALL_MS = 2000
const CONNECTIONS = 4
/** Pause before another search for a server, because each one authenticates at all of them. */
const SEARCH_PAUSE_MS = 200
const DUPLICATE_KEY = '23505'
const READ_ONLY = '25006'

type LogSql = postgres.Sql

/** The PostgreSQL database of a cluster's log, on the one of several servers that accepts writes. */
export type LogDatabase = {
  /** @throws LogUnreachable when there is no answer in time; errors of PostgreSQL itself. */
  query<T>(run: (sql: LogSql) => PromiseLike<T>): Promise<T>
  close(): Promise<void>
}

/** The log did not answer; a statement that was sent may have been executed. */
export class LogUnreachable extends Error {
  readonly code = 'LOG_UNREACHABLE'
}

/**
 * Creates the client; it connects at the first query.
 * @throws StartupError for an invalid URL.
 */
export function openLogDatabase(urls: readonly string[]): LogDatabase {
  const servers = urls.map(parseUrl)
  if (servers.length === 0) throw new StartupError('CLUSTER_LOG_URL: is empty')
  let primary: Promise<LogSql> | null = null
  let pauseMs = 0

  const search = async () => {
    await Bun.sleep(pauseMs)
    pauseMs = SEARCH_PAUSE_MS
    const found = await findPrimary(servers)
    pauseMs = 0
    return found
  }
  /** Concurrent calls that fail with one server give it up once. */
  const giveUp = (failed: Promise<LogSql>) => {
    if (primary !== failed) return
    primary = null
    failed.then(end, () => undefined)
  }

  return {
    async query(run) {
      primary ??= search()
      const used = primary
      try {
        return await inTime(used.then(run))
      } catch (error) {
        if (isStatementError(error)) throw error
        giveUp(used)
        throw error instanceof LogUnreachable ? error : new LogUnreachable(errorMessage(error), { cause: error })
      }
    },
    async close() {
      const used = await primary?.catch(() => null)
      await used?.end({ timeout: 1 })
    },
  }
}

/** Returns whether the key exists already. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === DUPLICATE_KEY
}

/**
 * Connects to all servers at once, because one that is lost does not answer. @returns the client of the first that is not
 * in recovery. @throws LogUnreachable when there is none.
 */
async function findPrimary(servers: readonly URL[]): Promise<LogSql> {
  const clients = servers.map(connect)
  try {
    const found = await Promise.any(clients.map(requirePrimary))
    for (const client of clients) if (client !== found) end(client)
    return found
  } catch (error) {
    for (const client of clients) end(client)
    const reasons = error instanceof AggregateError ? error.errors.map(errorMessage).join('; ') : errorMessage(error)
    throw new LogUnreachable(reasons, { cause: error })
  }
}

async function requirePrimary(client: LogSql): Promise<LogSql> {
  const [row] = await inTime(client`SELECT pg_is_in_recovery() AS is_standby`)
  if (row?.is_standby !== false) throw new LogUnreachable('the server is a standby')
  return client
}

function connect(server: URL): LogSql {
  return postgres(`postgres://${server.username}:${server.password}@${server.host}${server.pathname}`, {
    ssl: toSsl(server.searchParams.get('sslmode')),
    max: CONNECTIONS,
    connect_timeout: CALL_MS / 1000,
    backoff: () => 0.05,
    fetch_types: false,
    connection: { application_name: 'stead', statement_timeout: CALL_MS },
    onnotice: () => undefined,
  })
}

function end(client: LogSql): void {
  client.end({ timeout: 0 }).catch(() => undefined)
}

/** @throws LogUnreachable when the work takes longer than a call may. */
async function inTime<T>(work: PromiseLike<T>): Promise<T> {
  let timer: Timer | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new LogUnreachable('no answer in time')), CALL_MS)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** PostgreSQL answered and keeps the connection. Class 57 is a shutdown, 08 a lost connection, 25006 a former primary. */
function isStatementError(error: unknown): boolean {
  if (!(error instanceof postgres.PostgresError)) return false
  return error.code !== READ_ONLY && !/^(08|57|53)/.test(error.code)
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^postgres(ql)?:$/.test(url.protocol) && url.hostname && url.pathname.length > 1) return url
  throw new StartupError('CLUSTER_LOG_URL: must be postgres://user:password@host:port/database, comma-separated')
}

function toSsl(mode: string | null): 'require' | 'verify-full' | false {
  if (mode === 'require') return 'require'
  return mode === 'verify-full' || mode === 'verify-ca' ? 'verify-full' : false
}
