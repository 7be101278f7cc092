import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorMessage, StartupError } from '../../core/errors.ts'
import { giveToOwnerOf } from '../../core/files/ownership.ts'

/** Returns the key file used when no key is given; follows a link. */
export function toKeyFile(dataDir: string): string {
  const file = join(dataDir, 'encryption.key')
  return existsSync(file) ? realpathSync(file) : file
}

/** Returns the file of the next key, next to the present one. */
export function toNextFile(dataDir: string): string {
  return `${toKeyFile(dataDir)}.next`
}

/** Reads a key file; null when it does not exist. @throws StartupError when it cannot be read. */
export function readKeyFile(file: string): string | null {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : null
  } catch (error) {
    throw unusable(file, error)
  }
}

/** Writes the next key durably, readable by its owner only. @throws StartupError */
export function putNextKey(dataDir: string, key: string): void {
  const file = toNextFile(dataDir)
  try {
    rmSync(file, { force: true })
    writeDurably(file, key)
    const present = toKeyFile(dataDir)
    giveToOwnerOf(existsSync(present) ? present : dirname(present), file)
  } catch (error) {
    throw unusable(file, error)
  }
}

/**
 * Replaces the present key by the next one atomically and keeps the present one, which backups need.
 * @returns the file of the former key; null without one.
 * @throws StartupError
 */
export function takeNextKey(dataDir: string, now: Date): string | null {
  const [file, next] = [toKeyFile(dataDir), toNextFile(dataDir)]
  try {
    const former = keepFormer(file, now)
    renameSync(next, file)
    syncFolder(dirname(file))
    return former
  } catch (error) {
    const reason = `${next} is the key now, and cannot take the place of ${file} (${errorMessage(error)})`
    throw new StartupError(`ENCRYPTION_KEY: ${reason}`, { cause: error })
  }
}

/** Deletes an unused next key. */
export function forgetNextKey(dataDir: string): void {
  rmSync(toNextFile(dataDir), { force: true })
}

/** Lists the key file with the next and the former keys. */
export function listKeyFiles(dataDir: string): string[] {
  const file = toKeyFile(dataDir)
  if (!existsSync(dirname(file))) return []
  const names = readdirSync(dirname(file)).filter((name) => name.startsWith(basename(file)))
  return names.map((name) => join(dirname(file), name)).sort()
}

function keepFormer(file: string, now: Date): string | null {
  const key = readKeyFile(file)
  if (key === null) return null
  const former = `${file}.until-${now.toISOString().replace(/[-:.]/g, '')}`
  rmSync(former, { force: true })
  writeDurably(former, key)
  giveToOwnerOf(file, former)
  return former
}

function writeDurably(file: string, text: string): void {
  const descriptor = openSync(file, 'wx', 0o600)
  try {
    writeSync(descriptor, text)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  syncFolder(dirname(file))
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function unusable(file: string, error: unknown): StartupError {
  return new StartupError(`ENCRYPTION_KEY: ${file} cannot be used (${errorMessage(error)})`, { cause: error })
}
