import { existsSync } from 'node:fs'
import { systemClock } from '../../core/clock.ts'
import { AppError, errorMessage, StartupError } from '../../core/errors.ts'
import { createSealer } from '../../core/secrets.ts'
import { lockDataDir } from '../../db/instance-lock.ts'
import type { Connection } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { recordAudit } from '../../features/accounts/audit/audit.ts'
import { keepKeys, noteKey } from '../../features/accounts/encryption/master-key.ts'
import { sealAgain } from '../../features/accounts/encryption/sealed-values.ts'
import { openMigrated } from '../database.ts'
import { findKey, type KeyConfig, openKey, randomKey } from './encryption-key.ts'
import { putNextKey, takeNextKey, toKeyFile } from './key-file.ts'

/**
 * `changed` is false when the database already had the given key; `sealed` counts the re-sealed values. Both files are
 * null when keys are settings.
 */
export type Rotation = { changed: boolean; sealed: number; keyFile: string | null; formerKeyFile: string | null }

/** Step just completed; `sealed` is reported before the commit. */
export const ROTATION_STEPS = ['opened', 'next key written', 'sealed', 'committed', 'key in place'] as const
type Note = (step: (typeof ROTATION_STEPS)[number]) => void

type Keys = Record<'old' | 'key', string>

/**
 * Seals everything with another key: `given` when the present key is a setting, otherwise a new one. The new key is
 * written next to the present one, a transaction re-seals everything, then the file is renamed. The database identifies
 * the valid key, so the next start or call completes an interrupted rotation.
 * @throws StartupError while a server runs or when the present key is wrong; AppError `invalid` for a value that cannot
 * be opened (nothing changes), `unavailable` when the disk refuses the write.
 */
export async function rotateKey(config: KeyConfig, given: string | null, note: Note = () => {}): Promise<Rotation> {
  const { dataDir, databaseFile } = config
  if (!existsSync(databaseFile)) throw new StartupError(`DATA_DIR: there is no ${databaseFile}: nothing is sealed yet`)
  const unlock = lockForKeys(dataDir)
  try {
    if (given !== null && isInForce(config, given)) return await finish(config)
    return await changeKey(config, given ?? randomKey(), note)
  } finally {
    unlock()
  }
}

/** Returns whether the database already uses `given`, whether or not the setting is up to date. */
function isInForce(config: KeyConfig, given: string): boolean {
  const isPresent = given === config.encryptionKey
  return (
    (isPresent || findKey(config).problem !== null) && findKey({ ...config, encryptionKey: given }).problem === null
  )
}

/** Completes the last rotation if it was interrupted. */
async function finish(config: KeyConfig): Promise<Rotation> {
  await withKeyDatabase(config, clearOld)
  return { changed: false, sealed: 0, keyFile: null, formerKeyFile: null }
}

function changeKey(config: KeyConfig, key: string, note: Note): Promise<Rotation> {
  const { dataDir, encryptionKey } = config
  const old = openKey(config)
  return withKeyDatabase(config, async (connection) => {
    note('opened')
    if (!encryptionKey) putNextKey(dataDir, key)
    note('next key written')
    const sealed = await sealAll(connection, { old, key }, note)
    note('committed')
    const formerKeyFile = encryptionKey ? null : takeNextKey(dataDir, systemClock.now())
    note('key in place')
    clearOld(connection)
    return { changed: true, sealed, keyFile: encryptionKey ? null : toKeyFile(dataDir), formerKeyFile }
  })
}

/** Opens and migrates the database for one operation. */
export async function withKeyDatabase<T>(
  { databaseFile, dataDir }: KeyConfig,
  work: (connection: Connection) => T | Promise<T>,
): Promise<T> {
  const { connection } = openMigrated(databaseFile, dataDir)
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}

/** Locks the data folder. @throws StartupError while a server runs. */
export function lockForKeys(dataDir: string): () => void {
  try {
    return lockDataDir(dataDir)
  } catch (error) {
    throw new StartupError(`rotate-key: stop Stead first (${errorMessage(error)})`, { cause: error })
  }
}

async function sealAll({ db, sqlite }: Connection, { old, key }: Keys, note: Note): Promise<number> {
  const [from, to] = [createSealer(old), createSealer(key)]
  const sealed = await write(db, (tx) => {
    keepKeys(tx, from)
    const count = sealAgain(tx, from, to)
    noteKey(tx, to)
    const line = { actor: 'cli', action: 'key.rotated', target: 'installation', detail: { sealed: count } }
    recordAudit(tx, line, systemClock.now())
    note('sealed')
    return count
  })
  sqlite.pragma('wal_checkpoint(TRUNCATE)')
  return sealed
}

/** Overwrites free pages, which still hold values sealed with the former key. */
function clearOld({ sqlite }: Connection): void {
  try {
    sqlite.exec('VACUUM')
    sqlite.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    const reason = 'the key is changed, but free pages of the database still hold what was sealed with the one before'
    throw new AppError('unavailable', `rotate-key: ${reason} (${errorMessage(error)}): run it again`)
  }
}
