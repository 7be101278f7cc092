import postgres from 'postgres'
import { errorMessage, StartupError } from '../../core/errors.ts'

/** Time limit of one call; the service answers 503 soon afterwards. */
const CALL_MS = 2000
const CONNECTIONS = 4
const DUPLICATE_KEY = '23505'
const READ_ONLY = '25006'

type LogSql = postgres.Sql

/** The PostgreSQL database of a cluster's log, at the first of several addresses that accepts writes. */
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
  const parsed = urls.map(parseUrl)
  const [first] = parsed
  if (!first) throw new StartupError('CLUSTER_LOG_URL: is empty')
  const options: postgres.Options<Record<string, never>> = {
    ssl: toSsl(first.searchParams.get('sslmode')),
    target_session_attrs: 'read-write',
    max: CONNECTIONS,
    connect_timeout: CALL_MS / 1000,
    backoff: () => 0.05,
    fetch_types: false,
    connection: { application_name: 'stead', statement_timeout: CALL_MS },
    onnotice: () => undefined,
  }
  const hosts = parsed.map(({ host }) => host).join(',')
  const address = `postgres://${first.username}:${first.password}@${hosts}${first.pathname}`
  const connect = () => postgres(address, options)
  let client = connect()
  let failing: LogSql | null = null

  /** Concurrent calls that fail with one client replace it once. */
  const replace = (failed: LogSql) => {
    if (client !== failed || failing === failed) return
    failing = failed
    client = connect()
    void failed.end({ timeout: 0 }).catch(() => undefined)
  }

  return {
    async query(run) {
      const used = client
      let timer: Timer | undefined
      const late = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new LogUnreachable('no answer in time')), CALL_MS)
      })
      try {
        return await Promise.race([Promise.resolve(run(used)), late])
      } catch (error) {
        if (isStatementError(error)) throw error
        replace(used)
        throw error instanceof LogUnreachable ? error : new LogUnreachable(errorMessage(error), { cause: error })
      } finally {
        clearTimeout(timer)
      }
    },
    close: () => client.end({ timeout: 1 }),
  }
}

/** Returns whether the key exists already. */
export function isDuplicate(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === DUPLICATE_KEY
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
