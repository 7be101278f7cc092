import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { openPostgres, POSTGRES_PROGRAMS, type TestPostgres } from '../../harness/services/postgres.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'
import {
  keepRegistering,
  listAccounts,
  openNode,
  readStatus,
  register,
  setUp,
  startNodes,
  type TestNode,
  untilEqual,
  untilMore,
  untilSameRows,
} from './nodes.ts'

const ROOT = join(import.meta.dir, '..', '..', '..')
const PATIENCE_MS = 600_000

let postgres: TestPostgres
const folder = tempFolder()
if (POSTGRES_PROGRAMS === null) console.warn('Cluster tests are skipped: PostgreSQL is not installed.')

describe.skipIf(POSTGRES_PROGRAMS === null)('a rolling upgrade', () => {
  beforeAll(async () => {
    postgres = await openPostgres()
  }, PATIENCE_MS)
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test(
    'of followers, then the leader, migrates the file with the first entry of the new leader, and loses nothing acknowledged',
    async () => {
      const upgraded = createUpgrade()
      const logUrl = await postgres.createDatabase()
      await using one = await openNode(logUrl, 'one')
      await using two = await openNode(logUrl, 'two')
      const [first, second] = await startNodes([one, two])
      await setUp(one)
      const load = keepRegistering([one, two], 2)
      await untilMore(load, 3)
      await second?.stop()
      const upgradedSecond = await two.start({}, upgraded)
      // The old leader still writes; the upgraded follower forwards every request and does not change its file.
      await untilMore(load, 3)
      expect((await register(two)).status).toBe(200)
      expect((await fetch(`${two.web}/api/auth/providers`)).status).toBe(200)
      expect(hasNewColumn(two)).toBe(false)
      await first?.stop()
      await until('the upgraded leader', async () => (await readStatus(two).catch(() => null))?.leader === 'two')
      await untilMore(load, 3)
      expect(hasNewColumn(two)).toBe(true)
      // A node of the old version forwards every request and does not change its file.
      const old = await one.start()
      await until('a forwarded write', async () => (await register(one)).email)
      expect(hasNewColumn(one)).toBe(false)
      expect(old.lines.filter((line) => line.includes('another version of Stead'))).toHaveLength(1)
      await old.stop()
      await one.start({}, upgraded)
      await untilMore(load, 3)
      const { longestGapMs } = await load.stop()
      await untilEqual([one, two])
      await untilSameRows(one, two)
      const known = listAccounts(one)
      expect(load.acknowledged.filter((email) => !known.has(email))).toEqual([])
      console.log(`rolling upgrade: ${load.acknowledged.length} accounts, longest gap ${longestGapMs} ms`)
      await upgradedSecond.stop()
    },
    PATIENCE_MS,
  )
})

/** Copies the program and adds a migration to the copy. @returns the command that starts it. */
function createUpgrade(): readonly [string, ...string[]] {
  for (const name of ['src', 'web', 'migrations', 'package.json', 'tsconfig.json', 'bunfig.toml']) {
    cpSync(join(ROOT, name), folder.file(name), { recursive: true, filter: (path) => !/\/web\/dist$/.test(path) })
  }
  symlinkSync(join(ROOT, 'node_modules'), folder.file('node_modules'))
  const list = folder.file('migrations/list.ts')
  const sql = 'ALTER TABLE users ADD COLUMN nickname TEXT;--> statement-breakpoint\nUPDATE users SET nickname = name;'
  const entry = `  { name: '9999_nickname', sql: ${JSON.stringify(sql)} },\n]`
  writeFileSync(list, readFileSync(list, 'utf8').replace(/\n\]/, `\n${entry}`))
  return [process.execPath, folder.file('src/main.ts')]
}

function hasNewColumn({ dataDir }: TestNode): boolean {
  const sqlite = new Database(join(dataDir, 'stead.db'), { readonly: true })
  const found = sqlite.prepare("SELECT 1 FROM pragma_table_info('users') WHERE name = 'nickname'").get()
  sqlite.close()
  return found !== undefined
}
