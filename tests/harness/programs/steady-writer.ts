/**
 * Writes to a database at a fixed rate, with a running row count in each transaction, and prints the acknowledged count
 * until it is killed.
 */
import { openDatabase } from '../../../src/db/open.ts'

const [file = '', perSecond = '500'] = process.argv.slice(2)
const { sqlite } = openDatabase(file)
sqlite.pragma('busy_timeout = 5000')
sqlite.exec(`CREATE TABLE IF NOT EXISTS steady (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS steady_count (count INTEGER NOT NULL) STRICT;
INSERT INTO steady_count SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM steady_count)`)
const insert = sqlite.prepare('INSERT INTO steady (text) VALUES (hex(randomblob(100)))')
const count = sqlite.prepare('UPDATE steady_count SET count = count + 1')
const writeSome = sqlite.transaction((rows: number) => {
  for (let row = 0; row < rows; row++) {
    insert.run()
    count.run()
  }
})

const startedAt = performance.now()
for (let written = 0; ; ) {
  const due = Math.floor(((performance.now() - startedAt) * Number(perSecond)) / 1000)
  writeSome.immediate(due - written)
  written = due
  process.stdout.write(`${written}\n`)
  await Bun.sleep(10)
}
