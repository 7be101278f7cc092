import { resolve } from 'node:path'
import type { Config } from '../../core/config.ts'
import { readEnvironment } from '../settings/environment.ts'
import type { Report } from '../../server/backups/create.ts'

/** A file or folder by its whole path; an address stays as it is. */
export function toPlace(place: string): string {
  return place.startsWith('s3://') ? place : resolve(place)
}

/** Does `work` with a file, or with a copy of what stands at an address. */
export async function withLocal<T>(place: string, work: (file: string) => Promise<T>): Promise<T> {
  const { isRemote, withLocalBackup } = await import('../../server/backups/store.ts')
  if (!isRemote(place)) return work(place)
  const { readConfig } = await import('../../core/config.ts')
  return withLocalBackup(place, readConfig(readEnvironment()).backups, work)
}

/** Lists what stands at an address, by names alone: to look into one takes all of it. */
export async function printRemote(place: string, { s3 }: Pick<Config['backups'], 's3'>, json: boolean): Promise<void> {
  const { createShelf } = await import('../../server/backups/store.ts')
  const shelf = createShelf({ to: place, s3 })
  const backups = (await shelf.list()).toReversed().map(({ name, sizeBytes, createdAt }) => ({
    ...{ file: shelf.locate(name), bytes: sizeBytes, createdAt: createdAt?.toISOString() ?? null, problem: null },
  }))
  const lines = backups.map(({ file, bytes, createdAt }) => `${file}\t${bytes} bytes\t${createdAt ?? ''}\n`)
  process.stdout.write(json ? `${JSON.stringify({ backups })}\n` : lines.join(''))
}

/** Shows how far a long command is in one line of the terminal, and nothing where standard error is none. */
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
