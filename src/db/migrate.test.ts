import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { migrations as ownMigrations } from '../../migrations/list.ts'
import { tempFolder } from '../../tests/harness/temp-folder.ts'
import { StartupError } from '../core/errors.ts'
import { type Migration, migrate } from './migrate.ts'
import { openDatabase } from './open.ts'

const FIRST: Migration = {
  name: '0000_first',
  sql: `CREATE TABLE parents (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
--> statement-breakpoint
CREATE TABLE children (parent INTEGER NOT NULL REFERENCES parents(id) ON DELETE CASCADE) STRICT;`,
}
const SECOND: Migration = { name: '0001_second', sql: 'CREATE TABLE toys (id INTEGER PRIMARY KEY) STRICT;' }

/** How drizzle-kit changes a column: a new table, the rows moved over, the old table dropped. */
const REBUILD: Migration = {
  name: '0001_rebuild',
  sql: `PRAGMA foreign_keys=OFF;--> statement-breakpoint
CREATE TABLE __new_parents (id INTEGER PRIMARY KEY, name TEXT) STRICT;--> statement-breakpoint
INSERT INTO __new_parents SELECT id, name FROM parents;--> statement-breakpoint
DROP TABLE parents;--> statement-breakpoint
ALTER TABLE __new_parents RENAME TO parents;--> statement-breakpoint
PRAGMA foreign_keys=ON;`,
}

describe('the migrations of Stead', () => {
  test('create the schema, and do nothing the second time', () => {
    const { sqlite } = openDatabase(':memory:')
    expect(migrate(sqlite, ownMigrations)).toEqual(ownMigrations.map(({ name }) => name))
    const schema = schemaOf(sqlite)
    expect(migrate(sqlite, ownMigrations)).toEqual([])
    expect(schemaOf(sqlite)).toEqual(schema)
  })

  test('make every table STRICT', () => {
    const { sqlite } = openDatabase(':memory:')
    migrate(sqlite, ownMigrations)
    const loose = sqlite.prepare(
      "SELECT name FROM pragma_table_list WHERE strict = 0 AND type = 'table' AND name NOT LIKE 'sqlite_%'",
    )
    expect(loose.all()).toEqual([])
  })
})

test('are applied in order when they are new', () => {
  const { sqlite } = openDatabase(':memory:')
  expect(migrate(sqlite, [FIRST])).toEqual(['0000_first'])
  expect(migrate(sqlite, [FIRST, SECOND])).toEqual(['0001_second'])
})

test('migrate throws and changes nothing when a newer program wrote the database', () => {
  const { sqlite } = openDatabase(':memory:')
  migrate(sqlite, [FIRST, SECOND])
  const schema = schemaOf(sqlite)
  expect(() => migrate(sqlite, [FIRST])).toThrow(/newer version of Stead.*0001_second/)
  expect(schemaOf(sqlite)).toEqual(schema)
})

test('migrate throws when an applied migration was edited', () => {
  const { sqlite } = openDatabase(':memory:')
  migrate(sqlite, [FIRST])
  expect(() => migrate(sqlite, [{ ...FIRST, sql: `${FIRST.sql}\n` }, SECOND])).toThrow(/0000_first.*another content/)
  expect(tablesOf(sqlite)).not.toContain('toys')
})

describe('a failed migration', () => {
  const FAILING = {
    name: '0002_failing',
    sql: 'CREATE TABLE half (id INTEGER);--> statement-breakpoint\nINSERT INTO nowhere VALUES (1);',
  }

  test('is rolled back, and earlier ones stay applied', () => {
    const { sqlite } = openDatabase(':memory:')
    expect(() => migrate(sqlite, [FIRST, SECOND, FAILING])).toThrow(StartupError)
    expect(tablesOf(sqlite)).toEqual(['children', 'migrations', 'parents', 'toys'])
    expect(migrate(sqlite, [FIRST, SECOND])).toEqual([])
  })

  test('leaves foreign keys enabled', () => {
    const { sqlite } = openDatabase(':memory:')
    expect(() => migrate(sqlite, [FAILING])).toThrow(/0002_failing.*nowhere/)
    expect(sqlite.pragma('foreign_keys', { simple: true })).toBe(1)
  })

  test('is one that leaves children without their parent', () => {
    const { sqlite } = openDatabase(':memory:')
    migrate(sqlite, [FIRST])
    sqlite.exec("INSERT INTO parents VALUES (1, 'Ada'); INSERT INTO children VALUES (1)")
    expect(() => migrate(sqlite, [FIRST, { name: '0001_orphans', sql: 'DELETE FROM parents' }])).toThrow(
      /lost their parent/,
    )
    expect(sqlite.prepare('SELECT count(*) AS count FROM parents').get()).toEqual({ count: 1 })
  })
})

test('keeps the rows that refer to a table when the table is rebuilt', () => {
  const { sqlite } = openDatabase(':memory:')
  migrate(sqlite, [FIRST])
  sqlite.exec("INSERT INTO parents VALUES (1, 'Ada'); INSERT INTO children VALUES (1), (1)")
  expect(migrate(sqlite, [FIRST, REBUILD])).toEqual(['0001_rebuild'])
  expect(sqlite.prepare('SELECT count(*) AS count FROM children').get()).toEqual({ count: 2 })
  expect(sqlite.pragma('foreign_keys', { simple: true })).toBe(1)
  expect(() => sqlite.exec('INSERT INTO children VALUES (2)')).toThrow('FOREIGN KEY')
})

describe('the backup before a migration', () => {
  test('contains the previous data and schema', () => {
    using folder = tempFolder()
    const { sqlite, close } = openDatabase(folder.file('stead.db'))
    migrate(sqlite, [FIRST], { backupDir: folder.file('backups') })
    sqlite.exec("INSERT INTO parents VALUES (1, 'Ada')")
    migrate(sqlite, [FIRST, SECOND], { backupDir: folder.file('backups') })
    close()

    const files = readdirSync(folder.file('backups'))
    expect(files).toHaveLength(1)
    const backup = openDatabase(folder.file(`backups/${files[0]}`))
    expect(backup.sqlite.pragma('integrity_check', { simple: true })).toBe('ok')
    expect(backup.sqlite.prepare('SELECT * FROM parents').all()).toEqual([{ id: 1, name: 'Ada' }])
    expect(tablesOf(backup.sqlite)).not.toContain('toys')
    backup.close()
  })

  test('is omitted when the database is empty or no migration is new', () => {
    using folder = tempFolder()
    const { sqlite, close } = openDatabase(folder.file('stead.db'))
    migrate(sqlite, [FIRST], { backupDir: folder.file('backups') })
    migrate(sqlite, [FIRST], { backupDir: folder.file('backups') })
    expect(readdirSync(folder.path)).not.toContain('backups')
    close()
  })

  test('stops the migration when it fails', () => {
    using folder = tempFolder()
    const { sqlite, close } = openDatabase(folder.file('stead.db'))
    migrate(sqlite, [FIRST])
    expect(() => migrate(sqlite, [FIRST, SECOND], { backupDir: folder.file('stead.db') })).toThrow(StartupError)
    expect(tablesOf(sqlite)).not.toContain('toys')
    close()
  })
})

type Sqlite = ReturnType<typeof openDatabase>['sqlite']

function schemaOf(sqlite: Sqlite): unknown[] {
  return sqlite.prepare('SELECT type, name, sql FROM sqlite_schema ORDER BY name').all()
}

function tablesOf(sqlite: Sqlite): string[] {
  return sqlite
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all()
    .map(({ name }) => name)
}
