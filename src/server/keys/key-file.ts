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

/** The file of the key where none is given; a link is followed. */
export function toKeyFile(dataDir: string): string {
  const file = join(dataDir, 'encryption.key')
  return existsSync(file) ? realpathSync(file) : file
}

/** The file of the key that is to take its place, beside it. */
export function toNextFile(dataDir: string): string {
  return `${toKeyFile(dataDir)}.next`
}

/** Null when there is no such file. @throws StartupError when it cannot be read. */
export function readKeyFile(file: string): string | null {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : null
  } catch (error) {
    throw unusable(file, error)
  }
}

/** Writes the next key, readable by its owner alone, so that it is there after any crash. @throws StartupError. */
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
 * Puts the next key in the place of the present one, in one step, and the present one beside it: backups need it.
 * @returns where the one before is now; null when there was none.
 * @throws StartupError.
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

/** Deletes a next key that nothing was sealed with. */
export function forgetNextKey(dataDir: string): void {
  rmSync(toNextFile(dataDir), { force: true })
}

/** The key file and all keys beside it: the next one, and those of before. */
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
