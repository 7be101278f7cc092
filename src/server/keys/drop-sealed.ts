import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { type Clock, systemClock } from '../../core/clock.ts'
import { AppError, StartupError } from '../../core/errors.ts'
import { giveToOwnerOf } from '../../core/files/ownership.ts'
import { createLog } from '../../core/log.ts'
import { createSealer, type SealedPlace, type Sealer } from '../../core/secrets.ts'
import { copyDatabase } from '../../db/copy.ts'
import { type Db, openForReading, type Tx, toDb } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { recordAudit } from '../../features/accounts/audit/audit.ts'
import { keepKeys, noteKey } from '../../features/accounts/encryption/master-key.ts'
import { listSealed, opens, type SealedValue, sealAgain } from '../../features/accounts/encryption/sealed-values.ts'
import { removeTwoFactor } from '../../features/accounts/two-factor/two-factor.ts'
import { users } from '../../features/accounts/users/tables.ts'
import { replaceTokens, type TokenName } from '../../features/agents/deployments/rotate-token.ts'
import { OPERATOR } from '../../features/agents/operations/operations.ts'
import { agents } from '../../features/agents/registry/tables.ts'
import { managedWallets } from '../../features/payments/wallets/tables.ts'
import { idempotencyKeys } from '../../http/tables.ts'
import { createJobQueue, type Enqueue } from '../../jobs/queue.ts'
import { findKey, isUsableKey, type KeyConfig, randomKey } from './encryption-key.ts'
import { putNextKey, takeNextKey, toKeyFile } from './key-file.ts'
import { lockForKeys, withKeyDatabase } from './rotate-key.ts'

/** Descriptions of the kinds of sealed values, for operators. */
const KINDS: Readonly<Record<SealedPlace, string>> = {
  agent_credentials: 'credentials of agents for services',
  agent_mcp_servers: 'headers and environments of MCP servers',
  agent_revisions: 'secrets in the configuration history of agents',
  'agents:accessToken': 'platform tokens of agents (replaced)',
  'agents:gatewayToken': 'gateway tokens of agents (replaced)',
  'agents:secretConfig': 'channel tokens and provider keys of agents',
  git_credentials: 'Git passwords',
  'idempotency_keys:answer': 'answers kept for idempotency keys',
  'identities:refreshToken': 'refresh tokens of identity providers',
  'installations:gatewayToken': 'gateway tokens of linked machines',
  kept_keys: 'derived keys of the platform (replaced)',
  managed_wallets: 'wallet keys',
  mcp_authorization_attempts: 'connections of MCP servers under way',
  mcp_authorizations: 'OAuth access of agents to MCP servers',
  notice_channels: 'notification channels',
  provider_keys: 'provider keys of users',
  service_credentials: 'credentials of the platform for services',
  'sign_in_attempts:secrets': 'sign-ins under way',
  'users:twoFactorSecret': 'two-factor secrets (two-factor sign-in is turned off)',
  webhook_channels: 'webhook channels of agents',
}

/** Columns that are set to null; other rows without a rule of their own are deleted. */
const OPTIONAL: ReadonlySet<SealedPlace> = new Set([
  'agent_mcp_servers',
  'agent_revisions',
  'agents:secretConfig',
  'identities:refreshToken',
  'installations:gatewayToken',
])

/** Without this, losing the stored response would let the same request run twice. */
const LOST_ANSWER = JSON.stringify({ error: 'The answer to the first request was lost with the encryption key' })

/** Counts of sealed values that the present key cannot open, and the affected wallets and accounts. */
export type Lost = { counts: Record<string, number>; wallets: string[]; twoFactorAccounts: string[] }

/** `keyFile` is null when the key is a setting; `copy` is the previous database, which the lost key still opens. */
export type Dropped = Lost & { sealed: number; keyFile: string | null; formerKeyFile: string | null; copy: string }

/** Returns the values that `dropSealed` would drop; changes nothing. @throws StartupError without a database. */
export function findLost(config: KeyConfig): Lost {
  requireDatabase(config)
  const sqlite = openForReading(config.databaseFile)
  try {
    const db = toDb(sqlite)
    return describeLost(db, listLost(db, toPresent(config)))
  } finally {
    sqlite.close()
  }
}

/**
 * Drops every sealed value that the present key cannot open and seals the others with the given or a new key. Agents
 * get new tokens. Keeps a copy of the database in case the lost key is found.
 * @throws StartupError while a server runs; AppError `conflict` when the present key opens everything.
 */
export async function dropSealed(config: KeyConfig): Promise<Dropped> {
  requireDatabase(config)
  const { dataDir, databaseFile, encryptionKey } = config
  const unlock = lockForKeys(dataDir)
  try {
    if (findKey(config).isNext) takeNextKey(dataDir, systemClock.now())
    const isRight = findKey(config).problem === null
    const from = toPresent(config)
    return await withKeyDatabase(config, async ({ db, sqlite }) => {
      const lost = listLost(db, from)
      if (isRight && lost.length === 0)
        throw new AppError('conflict', 'rotate-key: the present key opens every sealed value: nothing to drop')
      const copy = await keepCopy(databaseFile, dataDir)
      const key = encryptionKey ?? randomKey()
      if (!encryptionKey) putNextKey(dataDir, key)
      const log = createLog('silent')
      const { enqueue } = createJobQueue({ db, clock: systemClock, log })
      const to = createSealer(key)
      const deps = { clock: systemClock, enqueue, keepsKeys: isRight }
      const dropped = await write(db, (tx) => dropFrom(deps, tx, { from, to }))
      sqlite.pragma('wal_checkpoint(TRUNCATE)')
      const formerKeyFile = encryptionKey ? null : takeNextKey(dataDir, systemClock.now())
      return { ...dropped, keyFile: encryptionKey ? null : toKeyFile(dataDir), formerKeyFile, copy }
    })
  } finally {
    unlock()
  }
}

/**
 * Drops the values that `from` cannot open (null opens none) and seals the others with `to`, in the caller's
 * transaction. `keepsKeys` is set when the database was sealed with `from`.
 */
export function dropFrom(
  { clock, enqueue, keepsKeys }: { clock: Clock; enqueue: Enqueue; keepsKeys: boolean },
  tx: Tx,
  { from, to }: { from: Sealer | null; to: Sealer },
): Lost & { sealed: number } {
  const now = clock.now()
  const values = listLost(tx, from)
  const lost = describeLost(tx, values)
  const sealer = from ?? to
  for (const value of values) drop(tx, value, { sealer, now })
  for (const [id, names] of groupTokens(values)) {
    const agent = tx.select().from(agents).where(eq(agents.id, id)).get()
    if (agent) replaceTokens({ clock, sealer, enqueue }, tx, agent, { names, requestedBy: OPERATOR })
  }
  if (keepsKeys) keepKeys(tx, sealer)
  const sealed = sealAgain(tx, sealer, to)
  noteKey(tx, to)
  const detail = { ...lost, sealed }
  recordAudit(tx, { actor: 'cli', action: 'key.sealed-dropped', target: 'installation', detail }, now)
  return { ...lost, sealed }
}

function drop(tx: Tx, { name, place, rowid, purpose }: SealedValue, by: { sealer: Sealer; now: Date }): void {
  const [table, column] = [sql.identifier(place.table), sql.identifier(place.column)]
  if (isToken(name)) return
  if (name === 'users:twoFactorSecret') removeTwoFactor(tx, toRow(name, purpose), by.now)
  else if (name === 'idempotency_keys:answer') {
    const answer = by.sealer.seal(LOST_ANSWER, purpose)
    tx.update(idempotencyKeys)
      .set({ status: 409, answer })
      .where(eq(idempotencyKeys.id, toRow(name, purpose)))
      .run()
  } else if (OPTIONAL.has(name)) tx.run(sql`UPDATE ${table} SET ${column} = NULL WHERE rowid = ${rowid}`)
  else tx.run(sql`DELETE FROM ${table} WHERE rowid = ${rowid}`)
}

function isToken(name: SealedPlace): boolean {
  return name === 'agents:gatewayToken' || name === 'agents:accessToken'
}

/** Returns the tokens to replace, by agent. */
function groupTokens(values: readonly SealedValue[]): Map<string, TokenName[]> {
  const tokens = values.filter(({ name }) => isToken(name))
  const byAgent = Map.groupBy(tokens, ({ name, purpose }) => toRow(name, purpose))
  const toName = ({ name }: SealedValue): TokenName => (name === 'agents:gatewayToken' ? 'gateway' : 'platform')
  return new Map([...byAgent].map(([id, those]) => [id, those.map(toName)]))
}

function listLost(db: Db, from: Sealer | null): SealedValue[] {
  return [...listSealed(db)].filter(({ sealed, purpose }) => from === null || !opens(from, sealed, purpose))
}

function describeLost(db: Db, values: readonly SealedValue[]): Lost {
  const counts: Record<string, number> = {}
  for (const { name } of values) counts[KINDS[name]] = (counts[KINDS[name]] ?? 0) + 1
  const rowsOf = (wanted: SealedPlace) =>
    values.filter(({ name }) => name === wanted).map(({ name, purpose }) => toRow(name, purpose))
  const address = (id: string) =>
    db.select({ text: managedWallets.address }).from(managedWallets).where(eq(managedWallets.id, id)).get()?.text
  const email = (id: string) => db.select({ text: users.email }).from(users).where(eq(users.id, id)).get()?.text
  return {
    counts,
    wallets: rowsOf('managed_wallets').flatMap((id) => address(id) ?? []),
    twoFactorAccounts: rowsOf('users:twoFactorSecret').flatMap((id) => email(id) ?? []),
  }
}

/** Returns the row id in a purpose. */
function toRow(name: SealedPlace, purpose: string): string {
  return purpose.slice(name.length + 1)
}

/** Returns the sealer of the configured key, matching or not; null without one. */
function toPresent(config: KeyConfig): Sealer | null {
  const { key } = findKey(config)
  return isUsableKey(key) ? createSealer(key) : null
}

function requireDatabase({ databaseFile }: KeyConfig): void {
  if (existsSync(databaseFile)) return
  throw new StartupError(`DATA_DIR: there is no ${databaseFile}: nothing is sealed yet`)
}

async function keepCopy(databaseFile: string, dataDir: string): Promise<string> {
  const folder = join(dataDir, 'backups')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const stamp = systemClock.now().toISOString().replace(/[-:.]/g, '')
  const copy = join(folder, `before-drop-sealed-${stamp}.db`)
  await copyDatabase(databaseFile, copy, () => {})
  giveToOwnerOf(dataDir, folder, copy)
  return copy
}
