/** The process of `log`: measures writes with and without the log in the folder it is given, and prints the results as JSON. */
import { join } from 'node:path'
import { migrations } from '../../../migrations/list.ts'
import { createCommitLogStore } from '../../../src/adapters/commit-log/commit-log.ts'
import { openLogDatabase } from '../../../src/adapters/commit-log/log-database.ts'
import { createLog } from '../../../src/core/log.ts'
import { readSqliteVersion, writePositionOfFile } from '../../../src/db/cluster/position.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { type Db, openDatabase, type Tx } from '../../../src/db/open.ts'
import { openWriteQueue, write } from '../../../src/db/write.ts'
import { usageLogs } from '../../../src/features/ai/usage/tables.ts'
import { TableChecks } from '../../../src/server/cluster/checks.ts'
import { LocalLog } from '../../../src/server/cluster/local-log.ts'
import { median, takeTurns } from '../median.ts'

const WRITERS = 32
const TURNS = 7
const TURN_MS = 1000
const INSERTS = 200
const CLUSTER = 'bench'
const NEVER_MS = 86_400_000

const [folder = '', logUrl = ''] = process.argv.slice(2)
const log = createLog('silent')
const store = createCommitLogStore(openLogDatabase([logUrl]))
await store.prepare({ id: CLUSTER, keyCheck: '', sqliteVersion: readSqliteVersion() })
const roundTripMs = await measureInserts()
const single = openSingle()
const leader = openLeader()

const together = (db: Db) => () => keepWriting(db, WRITERS)
const alone = (db: Db) => () => keepWriting(db, 1)
console.log(
  JSON.stringify({
    together: await takeTurns(TURNS, { ours: together(leader.db), bare: together(single.db) }),
    alone: await takeTurns(TURNS, { ours: alone(leader.db), bare: alone(single.db) }),
    roundTripMs,
  }),
)
single.close()
leader.close()
await store.close()

/** Writes for a second, each writer waiting for its own commit before the next. @returns commits per second. */
async function keepWriting(db: Db, writers: number): Promise<number> {
  let count = 0
  const startedAt = performance.now()
  const writeOn = async () => {
    while (performance.now() - startedAt < TURN_MS) {
      await write(db, insertUsage)
      count++
    }
  }
  await Promise.all(Array.from({ length: writers }, writeOn))
  return count / ((performance.now() - startedAt) / 1000)
}

function insertUsage(tx: Tx): void {
  tx.insert(usageLogs)
    .values({ userId: 'usr_bench', agentId: 'direct', model: 'openai/gpt-4o-mini', createdAt: new Date() })
    .run()
}

/** Returns the milliseconds of a commit by a plain client; the entries are not part of the measured log. */
async function measureInserts(): Promise<number> {
  const times: number[] = []
  for (let seq = -INSERTS; seq < 0; seq++) {
    const startedAt = performance.now()
    await store.append({ seq, id: `insert-${seq}`, node: 'bench', schema: 0, body: 'x'.repeat(1000), hash: '' })
    times.push(performance.now() - startedAt)
  }
  return median(times)
}

function openSingle() {
  const connection = openDatabase(join(folder, 'single.db'))
  migrate(connection.sqlite, migrations)
  openWriteQueue(connection)
  return connection
}

function openLeader() {
  const file = join(folder, 'leader.db')
  writePositionOfFile(file, { cluster: CLUSTER, seq: 0, hash: 'first' })
  const connection = openDatabase(file, { hasOwnReader: true })
  migrate(connection.sqlite, migrations)
  const local = new LocalLog(
    store,
    { node: 'bench', cluster: CLUSTER },
    new TableChecks(store, file, log, NEVER_MS),
    log,
  )
  openWriteQueue(
    connection,
    local.open(connection, () => null),
  )
  return connection
}
