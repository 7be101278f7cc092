import { type SQL, sql } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { SealedPlace, Sealer, SealPurpose } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'

/** A column of sealed values, and the columns that identify its rows in the seal purpose. */
type SealedColumn = { table: string; column: string; row: readonly string[] }

/** Every column with sealed values. A column missing here becomes unreadable when the master key is rotated. */
export const SEALED_COLUMNS: Readonly<Record<SealedPlace, SealedColumn>> = {
  agent_credentials: { table: 'agent_credentials', column: 'sealed_value', row: ['user_id', 'key'] },
  agent_mcp_servers: { table: 'agent_mcp_servers', column: 'sealed_headers', row: ['id'] },
  agent_revisions: { table: 'agent_revisions', column: 'sealed_secrets', row: ['agent_id', 'number'] },
  'agents:accessToken': { table: 'agents', column: 'access_token', row: ['id'] },
  'agents:gatewayToken': { table: 'agents', column: 'gateway_token', row: ['id'] },
  'agents:secretConfig': { table: 'agents', column: 'secret_config', row: ['id'] },
  git_credentials: { table: 'git_credentials', column: 'sealed_password', row: ['workspace', 'origin'] },
  'idempotency_keys:answer': { table: 'idempotency_keys', column: 'answer', row: ['id'] },
  'identities:refreshToken': { table: 'identities', column: 'refresh_token', row: ['issuer', 'subject'] },
  'installations:gatewayToken': { table: 'installations', column: 'gateway_token', row: ['id'] },
  kept_keys: { table: 'kept_keys', column: 'sealed_key', row: ['name'] },
  managed_wallets: { table: 'managed_wallets', column: 'sealed_key', row: ['id'] },
  mcp_authorization_attempts: { table: 'mcp_authorization_attempts', column: 'sealed', row: ['state_hash'] },
  mcp_authorizations: { table: 'mcp_authorizations', column: 'sealed', row: ['server_id'] },
  notice_channels: { table: 'notice_channels', column: 'sealed_recipient', row: ['id'] },
  provider_keys: { table: 'provider_keys', column: 'sealed_key', row: ['user_id', 'provider'] },
  service_credentials: { table: 'service_credentials', column: 'sealed_value', row: ['name'] },
  'sign_in_attempts:secrets': { table: 'sign_in_attempts', column: 'secrets', row: ['state_hash'] },
  'users:twoFactorSecret': { table: 'users', column: 'two_factor_secret', row: ['id'] },
  webhook_channels: { table: 'webhook_channels', column: 'sealed_channel', row: ['agent_id'] },
}

/** A sealed value and its purpose. */
export type SealedValue = {
  name: SealedPlace
  place: SealedColumn
  rowid: number
  sealed: string
  purpose: SealPurpose
}

const PAGE = 100

/** Lists every sealed value. Skips columns that an older schema does not have. */
export function* listSealed(db: Db): Generator<SealedValue, void> {
  for (const name of Object.keys(SEALED_COLUMNS)) {
    if (isSealedPlace(name) && hasColumn(db, SEALED_COLUMNS[name])) yield* listOf(db, name)
  }
}

/**
 * Seals every value with another key in the caller's transaction.
 * @returns the number of values.
 * @throws AppError `invalid` naming the value that `from` cannot open.
 */
export function sealAgain(tx: Tx, from: Sealer, to: Sealer): number {
  let count = 0
  for (const { place, rowid, sealed, purpose } of listSealed(tx)) {
    const again = to.seal(unsealOrThrow(from, sealed, purpose), purpose)
    const { table, column } = toSql(place)
    tx.run(sql`UPDATE ${table} SET ${column} = ${again} WHERE rowid = ${rowid}`)
    count++
  }
  return count
}

/** Returns the purpose of the first value that `sealer` cannot open, or null. */
export function findClosed(db: Db, sealer: Sealer): SealPurpose | null {
  for (const { sealed, purpose } of listSealed(db)) {
    if (!opens(sealer, sealed, purpose)) return purpose
  }
  return null
}

/** Returns whether `sealer` sealed the value for `purpose`. */
export function opens(sealer: Sealer, sealed: string, purpose: SealPurpose): boolean {
  try {
    sealer.unseal(sealed, purpose)
    return true
  } catch {
    return false
  }
}

function unsealOrThrow(sealer: Sealer, sealed: string, purpose: SealPurpose): string {
  try {
    return sealer.unseal(sealed, purpose)
  } catch (error) {
    throw new AppError('invalid', `${purpose} cannot be opened with the present key`, {}, { cause: error })
  }
}

function* listOf(db: Db, name: SealedPlace): Generator<SealedValue, void> {
  const place = SEALED_COLUMNS[name]
  const { table, column, row } = toSql(place)
  const columns = { rowid: sql<number>`rowid`, sealed: sql<string>`${column}`, row: sql<string>`${row}` }
  for (let after = 0; ; ) {
    const isNext = sql`rowid > ${after} AND ${column} IS NOT NULL`
    const page = db.select(columns).from(table).where(isNext).orderBy(sql`rowid`).limit(PAGE).all()
    for (const { rowid, sealed, row } of page) yield { name, place, rowid, sealed, purpose: `${name}:${row}` }
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = last.rowid
  }
}

function toSql({ table, column, row }: SealedColumn): { table: SQL; column: SQL; row: SQL } {
  const names = row.map((name) => sql.identifier(name))
  return {
    table: sql`${sql.identifier(table)}`,
    column: sql`${sql.identifier(column)}`,
    row: sql.join(names, sql` || ':' || `),
  }
}

function hasColumn(db: Db, { table, column }: SealedColumn): boolean {
  const columns = db.select({ name: sql`name` }).from(sql`pragma_table_info(${table})`)
  return columns.where(sql`name = ${column}`).get() !== undefined
}

function isSealedPlace(name: string): name is SealedPlace {
  return Object.hasOwn(SEALED_COLUMNS, name)
}
