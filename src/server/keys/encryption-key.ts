import { existsSync } from 'node:fs'
import { systemClock } from '../../core/clock.ts'
import type { Config } from '../../core/config.ts'
import { errorMessage, StartupError } from '../../core/errors.ts'
import { randomText } from '../../core/ids.ts'
import { quoteForShell } from '../../core/text/lines.ts'
import { openForReading, toDb } from '../../db/open.ts'
import { findKeyProblem, type KeyProblem } from '../../features/accounts/encryption/master-key.ts'
import { forgetNextKey, putNextKey, readKeyFile, takeNextKey, toKeyFile, toNextFile } from './key-file.ts'

export type KeyConfig = Pick<Config, 'dataDir' | 'databaseFile' | 'encryptionKey'>

/**
 * `key` is null before the first start. `isNext`: a rotation was interrupted after everything had been sealed with the
 * next key.
 */
type Found = { key: string | null; problem: string | null; isNext: boolean }

/** Shorter keys are truncated or invalid. */
const MIN_KEY_LENGTH = 16
const NEW_KEY_LENGTH = 43

/**
 * Returns the key that seals secrets at rest; creates it at the first start, readable by its owner only. Completes an
 * interrupted rotation, or discards it when nothing was sealed with the next key. The caller holds the lock of the data
 * folder.
 * @throws StartupError when the key is missing, cannot be checked, or is not the one that sealed the database.
 */
export function openKey(config: KeyConfig): string {
  const { key, problem, isNext } = findKey(config)
  if (problem) throw new StartupError(`ENCRYPTION_KEY: ${problem}`)
  if (config.encryptionKey) return config.encryptionKey
  if (isNext) takeNextKey(config.dataDir, systemClock.now())
  else forgetNextKey(config.dataDir)
  return key ?? makeKey(config)
}

/** Returns the given key, or that of the key file, and its problem, without writing. @throws StartupError */
export function findKey(config: KeyConfig): Found {
  const found = findWithoutAdvice(config)
  return found.problem === null ? found : { ...found, problem: `${found.problem}. ${describeWaysOn(config)}` }
}

function findWithoutAdvice(config: KeyConfig): Found {
  const { encryptionKey: given, dataDir } = config
  if (given) return { key: given, problem: describeKeyProblem(config, given, 'the key given'), isNext: false }
  const file = toKeyFile(dataDir)
  const key = readKeyFile(file)
  const problem = describeKeyProblem(config, key, file)
  const next = problem === null ? null : readKeyFile(toNextFile(dataDir))
  const isNext = next !== null && describeKeyProblem(config, next, file) === null
  return isNext ? { key: next, problem: null, isNext } : { key, problem, isNext }
}

/** Describes the two options after the loss of a key. */
function describeWaysOn({ encryptionKey, dataDir }: KeyConfig): string {
  const folder = quoteForShell(dataDir)
  const restore = encryptionKey
    ? 'set ENCRYPTION_KEY to that key again'
    : `put that key back (stead backup restore FILE --data-dir ${quoteForShell(`${dataDir}-restored`)} takes it out of a backup: copy encryption.key from there)`
  return `Either ${restore}, or drop all that it sealed: DATA_DIR=${folder} stead rotate-key --drop-sealed`
}

/**
 * Returns why `key` does not fit the database; null when it does. `name` is the origin of the key.
 * @throws StartupError
 */
function describeKeyProblem(
  { databaseFile }: Pick<Config, 'databaseFile'>,
  key: string | null,
  name: string,
): string | null {
  if (key !== null && !isUsableKey(key)) return `${name} holds no key`
  if (!existsSync(databaseFile)) return null
  const problem = findProblem(databaseFile, key)
  if (problem === 'missing') return `${name} is missing: ${databaseFile} was sealed with it`
  return problem && `${name} is not the key that ${databaseFile} was sealed with`
}

/** Returns whether a text is long enough to be a key. */
export function isUsableKey(key: string | null): key is string {
  return key !== null && key.length >= MIN_KEY_LENGTH
}

export function randomKey(): string {
  return randomText(NEW_KEY_LENGTH)
}

function makeKey({ dataDir }: KeyConfig): string {
  const key = randomKey()
  putNextKey(dataDir, key)
  takeNextKey(dataDir, systemClock.now())
  return key
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
