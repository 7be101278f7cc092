import { createHash, type Hash } from 'node:crypto'
import type Database from 'better-sqlite3'
import { openForReading } from '../open.ts'
import { LOCAL_TABLES } from './position.ts'
import type { LoggedStatement } from './statements.ts'

/** A checksum of each table that the nodes of a cluster share, by its name. */
export type Checksums = Record<string, string>

/** The last statement of an entry after which every node reads the checksums of its tables. */
export const CHECK_STATEMENT: LoggedStatement = ["SELECT 'checksums'", []]
const CHECK_END = `${JSON.stringify(CHECK_STATEMENT)}]`

/** Rows are read for this long at a time, so that requests do not wait. */
const SLICE_MS = 5

/** Returns whether the nodes read checksums after the entry. */
export function isCheck(body: string): boolean {
  return body.endsWith(CHECK_END)
}

/** Reads the checksums of a database in use, as of the call. */
export function readChecksums(file: string): Promise<Checksums> {
  const sqlite = openForReading(file)
  // The first statement of the transaction fixes what it reads.
  sqlite.exec('BEGIN')
  const tables = listSharedTables(sqlite)
  return sumTables(sqlite, tables).finally(() => sqlite.close())
}

/** Returns the names of the tables whose checksums differ. */
export function findDifferences(own: Checksums, others: Checksums): string[] {
  const names = new Set([...Object.keys(own), ...Object.keys(others)])
  return [...names].filter((name) => own[name] !== others[name]).sort()
}

type Table = { name: string; hasRowId: boolean }

/** A virtual table has no rows of its own: they are in its shadow tables, which are listed as well. */
function listSharedTables(sqlite: Database.Database): Table[] {
  return sqlite
    .prepare<[], { name: string; wr: number }>(
      "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow') AND name NOT LIKE 'sqlite_%'",
    )
    .all()
    .filter(({ name }) => !LOCAL_TABLES.has(name))
    .map(({ name, wr }) => ({ name, hasRowId: wr === 0 }))
}

async function sumTables(sqlite: Database.Database, tables: readonly Table[]): Promise<Checksums> {
  const sums: Checksums = {}
  for (const table of tables) sums[table.name] = await sumTable(sqlite, table)
  return sums
}

/** Tables without row ids are stored, and therefore read, in the order of their primary key. */
async function sumTable(sqlite: Database.Database, { name, hasRowId }: Table): Promise<string> {
  const query = hasRowId ? `SELECT rowid, * FROM "${name}" ORDER BY rowid` : `SELECT * FROM "${name}"`
  const hash = createHash('sha256')
  let endsAt = performance.now() + SLICE_MS
  for (const row of sqlite.prepare<[], unknown[]>(query).raw().iterate()) {
    for (const value of row) addValue(hash, value)
    if (performance.now() < endsAt) continue
    await new Promise<void>((resolve) => setImmediate(resolve))
    endsAt = performance.now() + SLICE_MS
  }
  return hash.digest('base64url')
}

/** Type and length keep values apart, such as the number 1 and the text `1`. */
function addValue(hash: Hash, value: unknown): void {
  const bytes = Buffer.isBuffer(value) ? value : Buffer.from(String(value))
  hash.update(`${Buffer.isBuffer(value) ? 'bytes' : typeof value} ${bytes.length} `)
  hash.update(bytes)
}
