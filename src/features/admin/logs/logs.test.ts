import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { createLog } from '../../../core/log.ts'
import { createLogTail } from './log-tail.ts'
import { LogPage } from './schemas.ts'

/** An administrator's view of a log with three lines. */
async function withLog() {
  const logTail = createLogTail()
  const log = createLog('trace', { write: (line) => logTail.add(line) })
  const test = testPlatform({ environment: { ADMIN_EMAILS: 'root@example.com' }, logTail })
  const admin = await test.signIn('root@example.com')
  log.debug('starting')
  log.info({ port: 3000 }, 'Listening on the WEB port')
  log.error({ error: 'no route' }, 'mail failed')
  const get = (query = '', headers: Record<string, string> = admin.cookie) =>
    test.web.request(`/api/admin/logs${query}`, { headers })
  return { ...test, log, get, list: (query = '') => read(LogPage, get(query)) }
}

test('GET /api/admin/logs: 200 with level, time, message and fields, newest first', async () => {
  const { list } = await withLog()
  const { lines, next } = await list()
  expect(lines).toEqual([
    { id: 3, level: 'error', time: expect.stringMatching(/Z$/), message: 'mail failed', fields: { error: 'no route' } },
    { id: 2, level: 'info', time: expect.any(String), message: 'Listening on the WEB port', fields: { port: 3000 } },
    { id: 1, level: 'debug', time: expect.any(String), message: 'starting', fields: {} },
  ])
  expect(next).toBeNull()
})

test.each<[string, number[]]>([
  ['?level=info', [3, 2]],
  ['?level=error', [3]],
  ['?search=web', [2]],
  ['?search=NO%20route', [3]],
  ['?search=nothing', []],
  ['?level=info&search=start', []],
])('GET /api/admin/logs%s: 200 with the lines %j', async (query, ids) => {
  const { list } = await withLog()
  expect((await list(query)).lines.map(({ id }) => id)).toEqual(ids)
})

test('GET /api/admin/logs: 200 with older pages by before, and newer ones by after', async () => {
  const { list, log } = await withLog()
  const first = await list('?limit=2')
  expect([first.lines.map(({ id }) => id), first.next, first.last]).toEqual([[3, 2], 2, 3])
  const second = await list(`?limit=2&before=${first.next}`)
  expect([second.lines.map(({ id }) => id), second.next]).toEqual([[1], null])
  for (const message of ['one', 'two', 'three']) log.info(message)
  const follow = await list(`?limit=2&after=${first.last}`)
  expect([follow.lines.map(({ message }) => message), follow.last]).toEqual([['two', 'one'], 5])
  const rest = await list(`?limit=2&after=${follow.last}`)
  expect([rest.lines.map(({ message }) => message), rest.last]).toEqual([['three'], 6])
})

test('GET /api/admin/logs: 200 without secrets', async () => {
  const { get, log } = await withLog()
  log.info({ password: 'hunter2hunter2', header: 'Bearer abcdef123456' }, 'with sk_0123456789abcdefghij')
  const text = await (await get()).text()
  expect(text).toContain('[redacted]')
  for (const secret of ['hunter2', 'abcdef123456', '0123456789abcdefghij']) expect(text).not.toContain(secret)
})

test.each(['?level=loud', '?limit=501', '?limit=0', '?before=x'])('GET /api/admin/logs%s: 400', async (query) => {
  const { get } = await withLog()
  expect((await get(query)).status).toBe(400)
})

test('GET /api/admin/logs: 401 without a session, 403 for a user who is not an administrator', async () => {
  const { get, signIn } = await withLog()
  expect((await get('', {})).status).toBe(401)
  expect((await get('', (await signIn('ada@example.com')).cookie)).status).toBe(403)
})

test('createLogTail keeps the last 5000 lines and 4,000,000 characters, and cuts long lines', () => {
  const tail = createLogTail()
  const query = { level: 'trace', search: '', limit: 500, before: undefined, after: undefined } as const
  for (let count = 0; count < 6000; count++) tail.add(`{"level":30,"time":"t","msg":"${count}"}\n`)
  expect(tail.read({ ...query, before: 1002 }).lines.map(({ id }) => id)).toEqual([1001])
  for (let count = 0; count < 1000; count++) tail.add(`{"level":30,"time":"t","msg":"${'x'.repeat(100_000)}"}\n`)
  const { lines } = tail.read(query)
  expect(lines[0]?.message).toEndWith('… (cut)')
  let kept = 0
  for (let before: number | null | undefined; before !== null; ) {
    const page = tail.read({ ...query, before: before ?? undefined })
    kept += page.lines.reduce((sum, { message }) => sum + message.length, 0)
    before = page.next
  }
  expect(kept).toBeLessThanOrEqual(4_000_000)
})
