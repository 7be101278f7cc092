import { resolve } from 'node:path'
import type { Config } from '../../core/config.ts'
import type { Report } from '../../server/backups/create.ts'
import { readEnvironment } from '../settings/environment.ts'

/** Returns an absolute path; an object storage address is unchanged. */
export function toPlace(place: string): string {
  return place.startsWith('s3://') ? place : resolve(place)
}

/** Calls `work` with a local file, or with a temporary download of a remote one. */
export async function withLocal<T>(place: string, work: (file: string) => Promise<T>): Promise<T> {
  const { isRemote, withLocalBackup } = await import('../../server/backups/store.ts')
  if (!isRemote(place)) return work(place)
  const { readConfig } = await import('../../core/config.ts')
  return withLocalBackup(place, readConfig(readEnvironment()).backups, work)
}

/** Lists remote backups by name only: reading a manifest would download the whole file. */
export async function printRemote(place: string, { s3 }: Pick<Config['backups'], 's3'>, json: boolean): Promise<void> {
  const { createBackupStore } = await import('../../server/backups/store.ts')
  const backupStore = createBackupStore({ to: place, s3 })
  const backups = (await backupStore.list()).toReversed().map(({ name, sizeBytes, createdAt }) => ({
    ...{ file: backupStore.locate(name), bytes: sizeBytes, createdAt: createdAt?.toISOString() ?? null, problem: null },
  }))
  const lines = backups.map(({ file, bytes, createdAt }) => `${file}\t${bytes} bytes\t${createdAt ?? ''}\n`)
  process.stdout.write(json ? `${JSON.stringify({ backups })}\n` : lines.join(''))
}

/** Shows progress in one line of the terminal; does nothing when standard error is not a terminal. */
export function createProgress(): Disposable & { report: Report } {
  if (!process.stderr.isTTY) return { report: () => {}, [Symbol.dispose]: () => {} }
  let shown = ''
  const show = (line: string) => {
    if (line === shown) return
    shown = line
    process.stderr.write(`\r\u001b[K${line}`)
  }
  return {
    report: (what, done) => show(done === undefined ? what : `${what} ${Math.floor(done * 100)} %`),
    [Symbol.dispose]: () => show(''),
  }
}
