import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '..', '..', '..')
const CACHE = join(ROOT, 'node_modules/.cache/stead')

/**
 * Creates an empty database in a new data folder by copying a template, because migrations take a quarter of a start.
 * New migrations create a new template.
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
  // Test processes may create it concurrently, so each writes its own file and renames it.
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
