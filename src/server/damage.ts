import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../core/config.ts'
import { errorMessage, isDamage, StartupError } from '../core/errors.ts'
import { quoteForShell } from '../core/text/lines.ts'
import { openForReading } from '../db/open.ts'

type DamageConfig = Pick<Config, 'dataDir' | 'databaseFile'> & { backups: Pick<Config['backups'], 'to'> }

/** SQLite checks that much within about 50 ms; a larger file would delay the start. */
const MAX_CHECKED_BYTES = 32 * 1024 ** 2
const BACKUP = /^stead-\d{4}-[\w-]+\.tar(?:\.age)?$/

/**
 * Checks a small database before anything opens it. The caller holds the data folder.
 * @returns whether a check is still due: the file is large and was not closed properly.
 * @throws StartupError with the command that restores a backup.
 */
export function requireWhole(config: DamageConfig): boolean {
  const { databaseFile } = config
  if (!existsSync(databaseFile)) return false
  if (statSync(databaseFile).size > MAX_CHECKED_BYTES) return existsSync(`${databaseFile}-wal`)
  const damage = findFileDamage(databaseFile)
  if (damage === null) return false
  throw new StartupError(`DATA_DIR: ${databaseFile} is damaged (${damage}): ${describeRestore(config)}`)
}

/** Names the command that restores a backup, with the newest one where it is in a folder. */
export function describeRestore({ dataDir, backups: { to } }: DamageConfig): string {
  const folder = quoteForShell(dataDir)
  const newest = findNewest(to)
  const file = newest === null ? 'FILE' : quoteForShell(join(to, newest))
  const list = newest === null ? ` (DATA_DIR=${folder} stead backup list shows the files)` : ''
  return `stop Stead and restore a backup: stead backup restore ${file} --data-dir ${folder} --in-place${list}`
}

function findFileDamage(databaseFile: string): string | null {
  let sqlite: ReturnType<typeof openForReading> | undefined
  try {
    sqlite = openForReading(databaseFile)
    const result = String(sqlite.pragma('quick_check(1)', { simple: true }))
    return result === 'ok' ? null : toOneLine(result)
  } catch (error) {
    if (isDamage(error)) return errorMessage(error)
    throw new StartupError(`DATA_DIR: cannot read ${databaseFile} (${errorMessage(error)})`, { cause: error })
  } finally {
    sqlite?.close()
  }
}

/** Returns the result of a check without the lines that only name a tree. */
export function toOneLine(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\*\*\* .* \*\*\*$/.test(line))
    .join(' ')
}

function findNewest(folder: string): string | null {
  if (folder.startsWith('s3://') || !existsSync(folder)) return null
  return (
    readdirSync(folder)
      .filter((name) => BACKUP.test(name))
      .sort()
      .at(-1) ?? null
  )
}
