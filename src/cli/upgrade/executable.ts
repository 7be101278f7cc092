import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'

/** A cold disk reads a large file in seconds. */
const VERSION_TIMEOUT_MS = 20_000

const Version = z.object({ stead: z.string() })

/**
 * What the file must sum up to: `given`, or what `FILE.sha256` or `SHA256SUMS` beside it say; null when nobody says it.
 * @throws AppError `invalid` when it does not.
 */
export async function requireChecksum(file: string, given: string | undefined): Promise<string | null> {
  if (!existsSync(file)) throw new AppError('not_found', `upgrade: there is no ${file}`)
  const expected = given ?? findChecksum(file)
  if (expected === null) return null
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const bytes of Bun.file(file).stream()) hasher.update(bytes)
  const actual = hasher.digest('hex')
  if (actual === expected.toLowerCase()) return actual
  throw new AppError('invalid', `upgrade: ${file} sums up to ${actual}, not to ${expected}`)
}

function findChecksum(file: string): string | null {
  const read = (path: string) => (existsSync(path) ? readFileSync(path, 'utf8') : '')
  const own = read(`${file}.sha256`).match(/^[0-9a-f]{64}/i)?.[0]
  const lines = read(join(dirname(file), 'SHA256SUMS')).split('\n')
  return own ?? lines.find((line) => line.slice(64).replace(/^[ *]+/, '') === basename(file))?.slice(0, 64) ?? null
}

/**
 * Lays the file beside the executable, on the same disk, and has it tell its version there.
 * @throws AppError `unavailable` when the folder cannot be written, `invalid` when the file does not run or is no Stead.
 */
export function layBeside(
  file: string,
  target: string,
  versionTimeoutMs = VERSION_TIMEOUT_MS,
): { path: string; version: string } {
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
  const version = findVersion(path, versionTimeoutMs)
  if (version !== null) return { path, version }
  rmSync(path, { force: true })
  throw new AppError('invalid', `upgrade: ${file} does not run on this machine, or is no Stead`)
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
