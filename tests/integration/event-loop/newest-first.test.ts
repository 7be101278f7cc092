import { expect, test } from 'bun:test'
import { and, sql } from 'drizzle-orm'
import { inRanges, isBehind, type NewestFirst, newestFirst } from '../../../src/db/pages.ts'
import { write } from '../../../src/db/write.ts'
import { users } from '../../../src/features/accounts/users/tables.ts'
import { testPlatform } from '../../harness/platform.ts'

const USERS: NewestFirst = { table: users, time: users.createdAt, id: users.id }
const NEVER = new AbortController().signal
const ROWS = 3000

/** Creates accounts in groups of seven with the same timestamp. */
async function withUsers() {
  const { platform } = testPlatform()
  const { db } = platform
  await write(db, (tx) =>
    tx.run(sql`WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${ROWS})
      INSERT INTO users (id, email, name, created_at, updated_at)
      SELECT 'usr_' || (n * 7919 % ${ROWS}), n || '@example.com', 'N', 1000000 + n / 7, 0 FROM numbers`),
  )
  const all = db
    .select({ id: users.id, time: users.createdAt })
    .from(users)
    .orderBy(...newestFirst(USERS))
    .all()
  return { db, all, sqlite: platform.connection.sqlite }
}

test('ranges contain every row once, in the order of the whole, from any row on', async () => {
  const { db, all } = await withUsers()
  for (const from of [undefined, all[0], all[1234], all.at(-2), all.at(-1)]) {
    const found: string[] = []
    for await (const isInRange of inRanges(db, USERS, from, NEVER)) {
      const rows = db
        .select({ id: users.id })
        .from(users)
        .where(isInRange)
        .orderBy(...newestFirst(USERS))
        .all()
      found.push(...rows.map(({ id }) => id))
    }
    const start = from ? all.indexOf(from) + 1 : 0
    expect(found).toEqual(all.slice(start).map(({ id }) => id))
  }
})

test('pages after a row are read by an index, at any depth', async () => {
  const { db, all, sqlite } = await withUsers()
  const last = all[2000]
  const query = db
    .select({ id: users.id })
    .from(users)
    .where(and(last && isBehind(USERS, last)))
    .orderBy(...newestFirst(USERS))
    .limit(3)
  expect(query.all()).toEqual(all.slice(2001, 2004).map(({ id }) => ({ id })))
  const { sql: text, params } = query.toSQL()
  const plan = sqlite.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...params)
  expect(JSON.stringify(plan)).toContain('USING COVERING INDEX users_by_time ((created_at,id)<(?,?))')
})

test('a disconnected caller ends the query between two ranges', async () => {
  const { db } = await withUsers()
  const leaving = new AbortController()
  let ranges = 0
  const walk = async () => {
    for await (const _ of inRanges(db, USERS, undefined, leaving.signal)) {
      ranges += 1
      leaving.abort(new Error('left'))
    }
  }
  await expect(walk()).rejects.toThrow('left')
  expect(ranges).toBe(1)
})
