import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'

/** Time limit that allows for a large file on a slow disk. */
const VERSION_TIMEOUT_MS = 20_000
const READ_BYTES = 1024 ** 2

const Version = z.object({ stead: z.string() })

/**
 * Returns the expected checksum: `given`, or that in `FILE.sha256` or `SHA256SUMS`; null without any. The copy is
 * compared later, because the file can change meanwhile.
 * @throws AppError `invalid` when the file does not match.
 */
function requireChecksum(file: string, copy: string, given: string | undefined): string | null {
  const expected = given ?? findChecksum(file)
  if (expected === null) return null
  const actual = sumOf(copy)
  if (actual === expected.toLowerCase()) return actual
  throw new AppError('invalid', `upgrade: ${file} sums up to ${actual}, not to ${expected}`)
}

function sumOf(file: string): string {
  const hasher = new Bun.CryptoHasher('sha256')
  const buffer = Buffer.alloc(READ_BYTES)
  const descriptor = openSync(file, 'r')
  try {
    for (let count = readSync(descriptor, buffer); count > 0; count = readSync(descriptor, buffer))
      hasher.update(buffer.subarray(0, count))
  } finally {
    closeSync(descriptor)
  }
  return hasher.digest('hex')
}

function findChecksum(file: string): string | null {
  const read = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  const own = read(`${file}.sha256`).match(/^[0-9a-f]{64}/i)?.[0]
  const lines = read(join(dirname(file), 'SHA256SUMS')).split('\n')
  return own ?? lines.find((line) => line.slice(64).replace(/^[ *]+/, '') === basename(file))?.slice(0, 64) ?? null
}

/** The new executable next to the present one; `sum` is null when no checksum is known. */
type Laid = { path: string; version: string; sum: string | null }

/**
 * Copies the file next to the executable, compares its checksum and runs its `version` command.
 * @throws AppError `not_found` without the file, `unavailable` when the folder is not writable, `invalid` when the
 * checksum differs or the file is not a working Stead.
 */
export function layBeside(
  file: string,
  target: string,
  { sha256, versionTimeoutMs = VERSION_TIMEOUT_MS }: { sha256?: string | undefined; versionTimeoutMs?: number } = {},
): Laid {
  if (!existsSync(file)) throw new AppError('not_found', `upgrade: there is no ${file}`)
  const path = `${target}.new`
  try {
    copyWhole(file, path)
  } catch (error) {
    rmSync(path, { force: true })
    throw new AppError(
      'unavailable',
      `upgrade: cannot write ${path}: run it as the owner of ${target}`,
      {},
      { cause: error },
    )
  }
  try {
    const sum = requireChecksum(file, path, sha256)
    const version = findVersion(path, versionTimeoutMs)
    if (version !== null) return { path, version, sum }
    throw new AppError('invalid', `upgrade: ${file} does not run on this machine, or is no Stead`)
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  }
}

/** Time limit, because another program could wait for input forever. */
function findVersion(path: string, timeout: number): string | null {
  const options = { stdin: 'ignore', stderr: 'ignore', timeout, killSignal: 'SIGKILL' } as const
  try {
    const { success, stdout } = Bun.spawnSync([path, 'version', '--json'], options)
    return success ? Version.parse(JSON.parse(stdout.toString())).stead : null
  } catch {
    // Wrong architecture or not Stead; neither can be installed.
    return null
  }
}

/** Replaces the executable by a rename and keeps the former one. @returns the path of the former one. */
export function swapIn(next: string, target: string): string {
  const former = toFormer(target)
  copyWhole(target, `${former}.part`)
  renameSync(`${former}.part`, former)
  renameSync(next, target)
  flushFolder(dirname(target))
  return former
}

/** Restores the former executable by a rename. */
export function swapBack(target: string): void {
  renameSync(toFormer(target), target)
  flushFolder(dirname(target))
}

function toFormer(target: string): string {
  return `${target}.before-upgrade`
}

function copyWhole(from: string, to: string): void {
  copyFileSync(from, to)
  chmodSync(to, 0o755)
  flushFolder(to)
}

/** Syncs a file or folder to disk. */
export function flushFolder(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
