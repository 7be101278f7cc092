import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '..', '..', '..')
const CACHE = join(ROOT, 'node_modules/.cache/stead')

/**
 * Gives a data folder that has none a database with the tables of today and nothing in them: to migrate one takes a
 * quarter of a start. All are copies of one, which is made again when a migration comes.
 */
export async function addMigratedDatabase(dataDir: string): Promise<void> {
  const file = join(dataDir, 'stead.db')
  if (existsSync(file)) return
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  await copyFile(await findOrMakeTemplate(), file)
}

async function findOrMakeTemplate(): Promise<string> {
  const template = join(CACHE, `migrated-${hashMigrations()}.db`)
  if (existsSync(template)) return template
  const { openMigrated } = await import('../../../src/server/database.ts')
  mkdirSync(CACHE, { recursive: true })
  // Many make it at once when the gate begins; each has a file of its own until it is whole.
  const own = `${template}.${process.pid}`
  rmSync(own, { force: true })
  openMigrated(own, CACHE).connection.close()
  renameSync(own, template)
  return template
}

function hashMigrations(): string {
  const folder = join(ROOT, 'migrations')
  const names = readdirSync(folder).filter((name) => /\.(?:sql|ts)$/.test(name))
  const texts = names.sort().map((name) => `${name}\n${readFileSync(join(folder, name), 'utf8')}`)
  return Bun.hash(texts.join('\n')).toString(36)
}
