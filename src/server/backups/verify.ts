import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errorCode } from '../../adapters/runtimes/process/files.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import { readManifest } from './archive.ts'
import { type Examined, extractBackup } from './extract.ts'
import type { Manifest } from './manifest.ts'

/** A backup in a folder; `problem` says why its manifest cannot be read, which then is null. Nothing else was looked at. */
export type ListedBackup = { file: string; bytes: number; manifest: Manifest | null; problem: string | null }

/** Takes a backup apart in a new folder of `parent`, as `extractBackup`. @throws AppError `not_found` when there is no such file. */
export async function verifyBackup(
  file: string,
  givenKey: string | null,
  passphrase: string | null = null,
  parent: string = tmpdir(),
): Promise<Examined> {
  await requireBackup(file)
  const folder = await mkdtemp(join(parent, 'stead-verify-'))
  try {
    return await extractBackup(file, folder, givenKey, passphrase)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @throws AppError `not_found`. */
export async function requireBackup(file: string): Promise<void> {
  const stats = await stat(file).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  })
  if (!stats?.isFile()) throw new AppError('not_found', `backup: there is no file ${file}`)
}

/** The backups of a folder, oldest first; none when it does not exist. @throws AppError `unavailable` when it cannot be read. */
export async function listBackups(folder: string, passphrase: string | null = null): Promise<ListedBackup[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return []
    throw new AppError('unavailable', `backup: ${folder} cannot be read (${errorMessage(error)})`, {}, { cause: error })
  })
  const files = names.filter((name) => /\.tar(?:\.age)?$/.test(name)).map((name) => join(folder, name))
  // One after the other: to open a seal takes a quarter of a gigabyte of memory.
  const listed: ListedBackup[] = []
  for (const file of files) listed.push(await describe(file, passphrase))
  const timeOf = ({ manifest }: ListedBackup) => manifest?.createdAt ?? ''
  return listed.sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1))
}

async function describe(file: string, passphrase: string | null): Promise<ListedBackup> {
  const bytes = (await stat(file)).size
  try {
    return { file, bytes, manifest: await readManifest(file, passphrase), problem: null }
  } catch (error) {
    // One file that another user owns must not keep the next backup from being made.
    const isUnreadable = errorCode(error) === 'EACCES'
    if (!(error instanceof AppError) && !isUnreadable) throw error
    return { file, bytes, manifest: null, problem: errorMessage(error) }
  }
}
