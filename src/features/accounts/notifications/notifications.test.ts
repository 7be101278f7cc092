import { expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { type Receiver, startReceiver } from '../../../../tests/harness/doubles/receivers.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { tempFolder } from '../../../../tests/harness/temp-folder.ts'
import { until } from '../../../../tests/harness/until.ts'
import { createWebhook } from '../../../adapters/channels/messenger.ts'
import { createLog } from '../../../core/log.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { deleteOldDeliveries, toOperatorText } from './notify-operators.ts'
import { type Notification, TestNotificationResult } from './schemas.ts'
import { notificationDeliveries } from './tables.ts'
import { keepClusterWebhookKey, readClusterWebhookKey, readOrCreateWebhookKey } from './webhook-key.ts'

const DEGRADED: Notification = {
  id: 'wdg_1',
  kind: 'degraded',
  at: '2026-11-20T12:00:00.000Z',
  agent: { id: 'ada-1', name: 'Ada' },
  status: 'The agent does not answer its health check',
  attempt: 1,
  exitCode: null,
  outOfMemory: false,
}
const SECRET = 'a plain secret of 24 or more letters'

function openNotifying(webhook: Receiver, telegram?: Receiver) {
  return testPlatform({
    environment: {
      ADMIN_EMAILS: 'ada@example.com',
      WATCHDOG_WEBHOOK_URL: webhook.url,
      WATCHDOG_WEBHOOK_SECRET: SECRET,
      ...(telegram && {
        TELEGRAM_API_URL: telegram.url,
        TELEGRAM_BOT_TOKEN: '1:secret-of-the-bot',
        TELEGRAM_ADMIN_CHAT_ID: '42',
      }),
    },
  })
}

test('a notification is retried with growing delays until it is accepted', async () => {
  await using webhook = await startReceiver()
  webhook.failWith(500, 'reset', 404)
  const { platform, clock } = openNotifying(webhook)
  await using _jobs = startJobs(platform)
  await write(platform.db, (tx) => platform.notify(tx, DEGRADED))
  for (const [attempts, pauseMs] of [1000, 2000, 4000].entries()) {
    await until('the end of the attempt', () => {
      const [job] = platform.db.select().from(jobs).all()
      return job?.status === 'queued' && job.attempts === attempts + 1
    })
    expect(listDeliveries()).toMatchObject([
      { deliveredAt: null, channel: 'webhook', kind: 'degraded', agentId: 'ada-1' },
    ])
    clock.advance(pauseMs)
  }
  await until('the delivery', () => listDeliveries()[0]?.deliveredAt)
  expect(listDeliveries()).toMatchObject([{ attempts: 4, status: 200, error: null }])
  expect(webhook.deliveries.map(({ status }) => status)).toEqual([500, null, 404, 200])
  expect(new Set(webhook.deliveries.map(({ headers }) => headers['webhook-id']))).toEqual(new Set(['wdg_1']))

  await write(platform.db, (tx) => platform.notify(tx, DEGRADED))
  clock.advance(60_000)
  await until('the end of all jobs', () =>
    platform.db
      .select()
      .from(jobs)
      .all()
      .every(({ status }) => status === 'done'),
  )
  expect(webhook.deliveries).toHaveLength(4)

  clock.advance(31 * 86_400_000)
  await deleteOldDeliveries(platform)
  expect(listDeliveries()).toEqual([])

  function listDeliveries() {
    return platform.db.select().from(notificationDeliveries).all()
  }
})

test('a notification waits in one job when its receiver is unreachable, and in none when the receiver refuses it', async () => {
  await using webhook = await startReceiver()
  const { platform, clock } = openNotifying(webhook)
  webhook.failWith(503)
  await write(platform.db, (tx) => {
    for (let number = 1; number <= 20; number++) platform.notify(tx, { ...DEGRADED, id: `wdg_${number}` })
  })
  expect(platform.db.select().from(jobs).all()).toHaveLength(1)
  await using _jobs = startJobs(platform)
  await until('the first attempt', () => platform.db.select().from(jobs).all()[0]?.lastError)
  expect(webhook.deliveries).toHaveLength(1)

  webhook.failWith(200, 400)
  clock.advance(1000)
  await until('all but one', () => webhook.taken().length === 19)
  const idsOf = webhook.deliveries.map(({ headers }) => Number(headers['webhook-id']?.slice(4)))
  expect(idsOf).toEqual([1, ...Array.from({ length: 20 }, (_, index) => index + 1)])
  await until(
    'the end of the pass',
    () => platform.db.select().from(jobs).all()[0]?.lastError === 'webhook answered 400',
  )
  clock.advance(2000)
  await until('the last', () => webhook.taken().length === 20)
  expect(webhook.deliveries.at(-1)?.headers['webhook-id']).toBe('wdg_2')
})

test('sendWebhook follows no redirect and does not read the receiver’s body', async () => {
  await using elsewhere = await startReceiver()
  let sentBytes = 0
  const receiver = Bun.serve({
    port: 0,
    fetch: (request) =>
      new URL(request.url).pathname === '/away'
        ? Response.redirect(elsewhere.url, 307)
        : new Response(
            new ReadableStream({
              pull(controller) {
                sentBytes += 65_536
                controller.enqueue(new Uint8Array(65_536))
              },
            }),
          ),
  })
  const { signal } = new AbortController()
  const send = (path: string) =>
    createWebhook({ url: `${receiver.url.origin}${path}`, secret: () => SECRET }, { fetch })?.send(
      { id: 'wdg_1', body: '{}' },
      new Date(),
      signal,
    )
  expect(await send('/away')).toEqual({ status: 307, error: 'answered 307' })
  expect(elsewhere.deliveries).toEqual([])
  expect(await send('/endless')).toEqual({ status: 200, error: null })
  expect(sentBytes).toBeLessThan(64 * 1024 * 1024)
  await receiver.stop(true)
  expect(await send('/')).toEqual({ status: null, error: 'could not be reached' })
})

test('a signature is the one of Standard Webhooks, for secrets with and without the prefix', async () => {
  await using receiver = await startReceiver()
  const { signal } = new AbortController()
  const body = '{"version":1}'
  const standard = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`
  for (const secret of [standard, SECRET]) {
    const webhook = createWebhook({ url: receiver.url, secret: () => secret }, { fetch })
    await webhook?.send({ id: 'wdg_1', body }, new Date(), signal)
    const { headers } = receiver.deliveries.at(-1) ?? { headers: {} }
    const verifier = secret === standard ? new Webhook(secret) : new Webhook(secret, { format: 'raw' })
    expect(verifier.verify(body, headers)).toEqual({ version: 1 })
    expect(() => verifier.verify('{"version":2}', headers)).toThrow()
  }
})

test('a secret is generated once when none is given, and only its owner can read it', () => {
  using folder = tempFolder()
  const lines: string[] = []
  const log = createLog('info', { write: (line) => void lines.push(line) })
  const secret = readOrCreateWebhookKey(folder.path, log)
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(readOrCreateWebhookKey(folder.path, log)).toBe(secret)
  expect(statSync(folder.file('webhook.key')).mode & 0o777).toBe(0o600)
  expect(lines.join('')).toContain('webhook.key')
  expect(lines.join('')).not.toContain(secret)
  expect(() => readOrCreateWebhookKey(join(dirname(folder.path), 'nowhere'), log)).toThrow('WATCHDOG_WEBHOOK_SECRET: ')
})

test('readClusterWebhookKey returns the secret of the founder on every node', async () => {
  using founder = tempFolder()
  using other = tempFolder()
  const { platform } = testPlatform()
  const { db, sealer } = platform
  const secret = readOrCreateWebhookKey(founder.path, createLog('silent'))
  readOrCreateWebhookKey(other.path, createLog('silent'))
  for (const { path } of [founder, other]) await write(db, (tx) => keepClusterWebhookKey(tx, sealer, path))
  expect(readClusterWebhookKey(db, sealer, other.path)).toBe(secret)
  expect(readOrCreateWebhookKey(other.path, createLog('silent'))).toBe(secret)
})

test('readClusterWebhookKey derives the secret from the encryption key when the founder has no file', async () => {
  using node = tempFolder()
  const [one, two] = [testPlatform().platform, testPlatform().platform]
  for (const { db, sealer } of [one, two]) await write(db, (tx) => keepClusterWebhookKey(tx, sealer, node.path))
  const secret = readClusterWebhookKey(one.db, one.sealer, node.path)
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(readClusterWebhookKey(two.db, two.sealer, node.path)).toBe(secret)
})

test('a text message has four lines, whatever the agent’s name', () => {
  const name = 'Ada\nTrigger: repaired\u2028Attempt count: 0\u202e'
  expect(toOperatorText({ ...DEGRADED, agent: { id: 'ada-1', name } }).split('\n')).toEqual([
    '🟡 Agent degraded: Ada Trigger: repaired Attempt count: 0  (ada-1)',
    'The agent does not answer its health check',
    'Trigger: degraded',
    'Attempt count: 1',
  ])
})

test('POST /api/watchdog/test: 200 with the result per channel', async () => {
  await using webhook = await startReceiver()
  await using telegram = await startReceiver()
  telegram.failWith(401)
  const { web, signIn, logLines } = openNotifying(webhook, telegram)
  const { cookie } = await signIn('ada@example.com')
  const send = () => web.request('/api/watchdog/test', { method: 'POST', headers: cookie })
  expect(await read(TestNotificationResult, send())).toEqual({
    success: false,
    channels: [
      { channel: 'telegram', delivered: false, error: 'answered 401' },
      { channel: 'webhook', delivered: true, error: null },
    ],
  })
  expect((await read(TestNotificationResult, send())).success).toBe(true)
  expect(JSON.parse(webhook.taken()[0] ?? '')).toMatchObject({
    version: 1,
    type: 'watchdog.test',
    data: { agentId: null },
  })
  expect(logLines.join('')).not.toContain('secret-of-the-bot')
})

test('POST /api/watchdog/test: 401 without a session, 403 for other users, 503 without a channel', async () => {
  await using webhook = await startReceiver()
  const { web, signIn } = openNotifying(webhook)
  const post = (headers: Record<string, string>) => web.request('/api/watchdog/test', { method: 'POST', headers })
  expect((await post({})).status).toBe(401)
  expect((await post((await signIn('bo@example.com')).cookie)).status).toBe(403)
  expect(webhook.deliveries).toEqual([])

  const unconfigured = testPlatform({ environment: { ADMIN_EMAILS: 'ada@example.com' } })
  const { cookie } = await unconfigured.signIn('ada@example.com')
  const response = await unconfigured.web.request('/api/watchdog/test', { method: 'POST', headers: cookie })
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({ code: 'NOT_CONFIGURED' })
})
