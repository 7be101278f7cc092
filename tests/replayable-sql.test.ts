import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Glob } from 'bun'

const SOURCE = join(import.meta.dir, '../src')
/** SQL functions whose results may differ between the nodes of a cluster. */
const DIFFERING = [
  'random()',
  'randomblob(',
  'current_timestamp',
  'current_date',
  'current_time ',
  "datetime('now",
  "date('now",
  "strftime('%s','now",
  'unixepoch()',
  'julianday()',
  'last_insert_rowid()',
  'changes()',
  'total_changes()',
]

test('no SQL reads the clock, is random or depends on the connection, so every node gets the same rows', async () => {
  const found: string[] = []
  for await (const path of new Glob('**/*.ts').scan(SOURCE)) {
    // Commands, agents and adapters write nothing to the log.
    if (path.endsWith('.test.ts') || /^(?:cli|agent|adapters)\//.test(path)) continue
    const text = (await Bun.file(join(SOURCE, path)).text()).replaceAll('Math.random()', '').toLowerCase()
    for (const name of DIFFERING) if (text.includes(name)) found.push(`${path}: ${name}`)
  }
  expect(found).toEqual([])
})
