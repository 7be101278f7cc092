import { expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { sql } from 'drizzle-orm'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { findPreparedHold } from '../../../../tests/harness/speed/loop-hold.ts'
import { measureSlowness } from '../../../../tests/harness/speed/machine-speed.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { readConfig } from '../../../core/config.ts'
import { StartupError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { retentionJob } from './retention.ts'

const DAY_MS = 86_400_000
const never = new AbortController().signal
const TABLES = ['usage_logs', 'tool_events', 'messages', 'audit_log', 'security_events', 'inbox_messages'] as const

/** A row of each kind for every age, in days. */
async function storeRows({ platform, clock, signIn }: ReturnType<typeof testPlatform>, ages: readonly number[]) {
  const { user } = await signIn()
  const now = clock.now().getTime()
  await write(platform.db, (tx) => {
    tx.run(sql`INSERT INTO agents (id, owner_id, name, model, plan, ai_provider, status, gateway_token, access_token,
        access_token_hash, created_at, updated_at)
      VALUES ('ada', ${user.id}, 'Ada', 'm', 'label', 'openrouter', 'stopped', '', '', 'hash', ${now}, ${now})`)
    for (const age of ages) {
      const at = now - age * DAY_MS
      const id = `of-${age}`
      tx.run(sql`INSERT INTO usage_logs (user_id, agent_id, model, created_at) VALUES (${user.id}, ${id}, 'm', ${at})`)
      tx.run(
        sql`INSERT INTO tool_events (user_id, agent_id, tool_name, success, created_at) VALUES (${user.id}, ${id}, 't', 1, ${at})`,
      )
      tx.run(sql`INSERT INTO messages (id, user_id, agent_id, sender, content, status, created_at)
        VALUES (${id}, ${user.id}, 'ada', 'user', 'Hi', 'sent', ${at})`)
      tx.run(sql`INSERT INTO audit_log (actor, action, target, created_at) VALUES ('system', 'x', ${id}, ${at})`)
      tx.run(sql`INSERT INTO security_events (issuer, jti, claims, received_at) VALUES ('i', ${id}, '{}', ${at})`)
      tx.run(sql`INSERT INTO inbox_messages (id, agent_id, sender, subject, text, status, received_at)
        VALUES (${id}, 'ada', 's', 'S', 'T', 'delivered', ${at})`)
    }
    tx.run(sql`INSERT INTO usage_days (user_id, day, agent_id, model, input_tokens, output_tokens, cost_micro_usd, calls)
      VALUES (${user.id}, '2020-01-01', 'ada', 'm', 1, 1, 1, 1)`)
  })
}

function countRows({ platform }: ReturnType<typeof testPlatform>): Record<string, number> {
  const count = (table: string) =>
    Number(platform.connection.sqlite.prepare(`SELECT count(*) FROM ${table}`).pluck().get())
  return Object.fromEntries([...TABLES, 'usage_days'].map((table) => [table, count(table)]))
}

test('retentionJob deletes details older than their defaults and keeps messages and daily sums', async () => {
  const installation = testPlatform()
  await storeRows(installation, [0, 89, 91, 399, 401, 4000])
  await retentionJob(installation.platform).run(never)
  expect(countRows(installation)).toEqual({
    usage_logs: 4,
    tool_events: 2,
    messages: 6,
    audit_log: 4,
    security_events: 4,
    inbox_messages: 2,
    usage_days: 1,
  })
})

test('retentionJob keeps rows forever when their retention is 0', async () => {
  const names = ['USAGE', 'TOOL_EVENTS', 'MESSAGES', 'AUDIT', 'SECURITY_EVENTS', 'INBOX']
  const all = (days: string) => Object.fromEntries(names.map((name) => [`RETENTION_${name}_DAYS`, days]))
  const short = testPlatform({ environment: all('7') })
  await storeRows(short, [0, 6, 8, 4000])
  await retentionJob(short.platform).run(never)
  expect(countRows(short)).toEqual({ ...Object.fromEntries(TABLES.map((table) => [table, 2])), usage_days: 1 })

  const forEver = testPlatform({ environment: all('0') })
  await storeRows(forEver, [0, 4000])
  await retentionJob(forEver.platform).run(never)
  expect(countRows(forEver)).toEqual({ ...Object.fromEntries(TABLES.map((table) => [table, 2])), usage_days: 1 })
  expect(() => readConfig({ RETENTION_INBOX_DAYS: '-1' })).toThrow(StartupError)
})

test('retentionJob deletes a year of rows without blocking the event loop and shrinks the file', async () => {
  using folder = tempFolder()
  const file = folder.file('stead.db')
  const installation = testPlatform({ databaseFile: file, environment: { RETENTION_MESSAGES_DAYS: '30' } })
  await storeRows(installation, [0])
  const { sqlite } = installation.platform.connection
  const old = installation.clock.now().getTime() - 500 * DAY_MS
  const numbers = 'WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < @rows)'
  let full = 0
  const fill = () => {
    sqlite
      .prepare(
        `${numbers} INSERT INTO usage_logs (user_id, agent_id, model, created_at) SELECT 'u', 'a', 'm', @old - n FROM numbers`,
      )
      .run({ rows: 60_000, old })
    sqlite
      .prepare(`${numbers} INSERT INTO messages (id, user_id, agent_id, sender, content, status, created_at)
      SELECT 'old-' || n, (SELECT id FROM users), 'ada', 'agent', printf('%.*c', 1000, 'x'), 'sent', @old - n FROM numbers`)
      .run({ rows: 30_000, old })
    sqlite.pragma('wal_checkpoint(TRUNCATE)')
    full = statSync(file).size
  }
  const limitMs = 50 * measureSlowness()
  const work = () => retentionJob(installation.platform).run(never)
  expect(await findPreparedHold(limitMs, fill, work)).toBeLessThan(limitMs)
  expect(countRows(installation)).toMatchObject({ usage_logs: 1, messages: 1 })
  sqlite.pragma('wal_checkpoint(TRUNCATE)')
  expect(statSync(file).size).toBeLessThan(full / 2)
}, 600_000)

test('retentionJob finds expired rows by an index', () => {
  const { platform } = testPlatform()
  for (const table of TABLES) {
    const time = table === 'security_events' || table === 'inbox_messages' ? 'received_at' : 'created_at'
    const plan = platform.connection.sqlite
      .prepare(`EXPLAIN QUERY PLAN SELECT rowid FROM ${table} WHERE ${time} < 5 LIMIT 10`)
      .all()
    expect(JSON.stringify(plan)).toContain('USING')
    expect(JSON.stringify(plan)).not.toContain('SCAN')
  }
})
