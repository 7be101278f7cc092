import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../core/config.ts'
import { errorMessage, StartupError } from '../core/errors.ts'
import { randomText } from '../core/ids.ts'
import { openForReading, toDb } from '../db/open.ts'
import { findKeyProblem, type KeyProblem } from '../features/sealing/check-key.ts'

type KeyConfig = Pick<Config, 'dataDir' | 'databaseFile' | 'encryptionKey'>

/** A key that is shorter was cut, or is none. */
const MIN_KEY_LENGTH = 16

/** Makes the data folder when it is not there. @throws StartupError when it cannot be written. */
export function prepareDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    accessSync(dataDir, constants.W_OK)
  } catch (error) {
    throw new StartupError(`DATA_DIR: ${dataDir} is not writable (${errorMessage(error)})`, { cause: error })
  }
}

/**
 * The key that seals secrets at rest; at the first start it is made, readable by its owner alone.
 * @throws StartupError when it is not the one that the database was sealed with, or is not there beside such a database,
 * or when that cannot be found out.
 */
export function openKey(config: KeyConfig): string {
  const problem = describeKeyProblem(config)
  if (problem) throw new StartupError(`ENCRYPTION_KEY: ${problem}`)
  return config.encryptionKey ?? readOrCreate(toKeyFile(config), 'ENCRYPTION_KEY', () => randomText(43))
}

/** What is wrong with the key for the database beside it; null when nothing is. Nothing is written. @throws StartupError. */
export function describeKeyProblem(config: KeyConfig): string | null {
  const key = config.encryptionKey ?? readKey(config)
  const name = config.encryptionKey ? 'the key given' : toKeyFile(config)
  if (key !== null && key.length < MIN_KEY_LENGTH) return `${name} holds no key`
  if (!existsSync(config.databaseFile)) return null
  const problem = findProblem(config.databaseFile, key)
  if (problem === 'missing') return `${name} is missing: ${config.databaseFile} was sealed with it`
  return problem && `${name} is not the key that ${config.databaseFile} was sealed with`
}

function findProblem(databaseFile: string, key: string | null): KeyProblem | null {
  let sqlite: ReturnType<typeof openForReading> | undefined
  try {
    sqlite = openForReading(databaseFile)
    return findKeyProblem(toDb(sqlite), key)
  } catch (error) {
    throw new StartupError(`DATA_DIR: cannot read ${databaseFile} (${errorMessage(error)})`, { cause: error })
  } finally {
    sqlite?.close()
  }
}

/** What tells this installation from others in the same container engine: made once, no secret. */
export function readOrCreateInstance(dataDir: string): string {
  return readOrCreate(join(dataDir, 'instance.id'), 'DATA_DIR', () => randomText(12).toLowerCase())
}

function toKeyFile({ dataDir }: KeyConfig): string {
  return join(dataDir, 'encryption.key')
}

function readKey(config: KeyConfig): string | null {
  const file = toKeyFile(config)
  try {
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : null
  } catch (error) {
    throw new StartupError(`ENCRYPTION_KEY: ${file} cannot be used (${errorMessage(error)})`, { cause: error })
  }
}

function readOrCreate(file: string, setting: string, create: () => string): string {
  try {
    if (!existsSync(file)) writeFileSync(file, create(), { mode: 0o600, flag: 'wx' })
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new StartupError(`${setting}: ${file} cannot be used (${errorMessage(error)})`, { cause: error })
  }
}
