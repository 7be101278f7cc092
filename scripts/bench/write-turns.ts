/** The process of the case `write`: measures both ways of writing in the given folder and prints the result as JSON. */
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { migrations } from '../../migrations/list.ts'
import { migrate } from '../../src/db/migrate.ts'
import { type Connection, openDatabase, type Tx } from '../../src/db/open.ts'
import { openWriteQueue, write } from '../../src/db/write.ts'
import { usageLogs } from '../../src/features/ai/usage/tables.ts'
import { takeTurns } from './median.ts'

const WRITERS = 64
const TURNS = 5
const TURN_MS = 500

const [folder = ''] = process.argv.slice(2)
const queued = openConnection('queued.db')
const single = openConnection('single.db')
openWriteQueue(queued)
const inserts = { queued: prepareInsert(queued.tx), single: prepareInsert(single.tx) }
const begin = single.sqlite.prepare('BEGIN IMMEDIATE')
const commit = single.sqlite.prepare('COMMIT')

console.log(JSON.stringify(await takeTurns(TURNS, { ours: writeTogether, bare: writeAlone })))
queued.close()
single.close()

/** Returns the writes per second of all writers together, each waiting for its own commit before the next. */
async function writeTogether(): Promise<number> {
  let count = 0
  const startedAt = performance.now()
  const keepWriting = async () => {
    while (performance.now() - startedAt < TURN_MS) {
      await write(queued.db, () => inserts.queued.run(values()))
      count++
    }
  }
  await Promise.all(Array.from({ length: WRITERS }, keepWriting))
  return perSecond(count, startedAt)
}

/** Returns the writes per second with one commit each. */
async function writeAlone(): Promise<number> {
  let count = 0
  const startedAt = performance.now()
  while (performance.now() - startedAt < TURN_MS) {
    begin.run()
    inserts.single.run(values())
    commit.run()
    count++
  }
  return perSecond(count, startedAt)
}

/** Prepared, as on hot paths: the commit is measured, not building SQL. */
function prepareInsert(tx: Tx) {
  return tx
    .insert(usageLogs)
    .values({
      userId: sql.placeholder('userId'),
      agentId: 'direct',
      model: 'openai/gpt-4o-mini',
      createdAt: sql`${sql.placeholder('createdAt')}`,
    })
    .prepare()
}

function values() {
  return { userId: 'usr_bench', createdAt: Date.now() }
}

function perSecond(count: number, startedAt: number): number {
  return count / ((performance.now() - startedAt) / 1000)
}

function openConnection(name: string): Connection {
  const connection = openDatabase(join(folder, name))
  migrate(connection.sqlite, migrations)
  return connection
}
