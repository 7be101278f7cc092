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

/** A cold disk reads a large file in seconds. */
const VERSION_TIMEOUT_MS = 20_000
const READ_BYTES = 1024 ** 2

const Version = z.object({ stead: z.string() })

/**
 * The sum of the copy that would be installed, which must be what was `given`, or what `FILE.sha256` or `SHA256SUMS` beside
 * the file say; null when nobody says it. The file itself may change between a look at it and the copy.
 * @throws AppError `invalid` when it is not.
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

/** The new executable beside the present one; `sum` is null when nobody has said what it must be. */
type Laid = { path: string; version: string; sum: string | null }

/**
 * Lays the file beside the executable, on the same disk, compares its sum there, and then has it tell its version.
 * @throws AppError `not_found` without the file, `unavailable` when the folder cannot be written, `invalid` when the sum is
 * another one, or the file does not run or is no Stead.
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

/** What does not answer is no Stead: without an end to that, a program that reads or waits would hold the upgrade for ever. */
function findVersion(path: string, timeout: number): string | null {
  const options = { stdin: 'ignore', stderr: 'ignore', timeout, killSignal: 'SIGKILL' } as const
  try {
    const { success, stdout } = Bun.spawnSync([path, 'version', '--json'], options)
    return success ? Version.parse(JSON.parse(stdout.toString())).stead : null
  } catch {
    // Not of this machine's kind, or it says something else: either way it is none that can take over.
    return null
  }
}

/** Puts the new one in place by one rename; the former stays beside it. @returns where. */
export function swapIn(next: string, target: string): string {
  const former = toFormer(target)
  copyWhole(target, `${former}.part`)
  renameSync(`${former}.part`, former)
  renameSync(next, target)
  flushFolder(dirname(target))
  return former
}

/** Puts the former one back by one rename. */
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

/** Of a file or a folder: what it holds is on the disk. */
export function flushFolder(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
