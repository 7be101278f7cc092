import { describe, expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { type Receiver, startReceiver } from '../../../../tests/harness/doubles/receivers.ts'
import { mailingPlatform } from '../../../../tests/harness/mailing-platform.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { users } from '../users/tables.ts'
import { remindOwners } from './deliver.ts'
import { ChannelTest, CreatedChannel, NoticeChannelList, NoticeList, NoticeSettings } from './schemas.ts'
import { afterQuietHours, type OwnerNotice } from './send-notice.ts'
import { noticeChannels, noticeDeliveries, notices } from './tables.ts'

const AGENT = { id: 'ada-1', name: 'Ada\n<b>bold</b>' }
const TOKEN = '123456:a-secret-of-the-bot'

/** An owner, a stranger, a mail server, and a receiver in place of every service. */
async function installation(environment: Record<string, string> = {}) {
  const receiver = await startReceiver()
  const test = await mailingPlatform({
    environment: { SUMMARIZER_ALLOW_PRIVATE: 'true', TELEGRAM_API_URL: receiver.url, ...environment },
  })
  test.clock.set(new Date('2100-06-15T12:00:00Z'))
  const { user, cookie } = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const call = (method: 'POST' | 'PUT' | 'PATCH', path: string, body: unknown, headers = cookie) =>
    test.web.request(`/api/notices${path}`, json(method, body, headers))
  return {
    ...test,
    receiver,
    user,
    cookie,
    eve,
    call,
    get: (path: string, headers = cookie) => test.web.request(`/api/notices${path}`, { headers }),
    list: () => read(NoticeList, test.web.request('/api/notices', { headers: cookie })),
    sendNotice: (kind: OwnerNotice['kind'], text = 'Something happened.', agent: OwnerNotice['agent'] = AGENT) =>
      write(test.platform.db, (tx) => test.platform.sendNotice(tx, { userId: user.id, agent, kind, text })),
    [Symbol.asyncDispose]: async () => {
      await test[Symbol.asyncDispose]()
      await receiver[Symbol.asyncDispose]()
    },
  }
}

/** Waits until the receiver got `count` requests since `before`. */
async function arrivals(receiver: Receiver, count: number) {
  await until(`${count} messages`, () => receiver.taken().length >= count)
  return receiver.deliveries
}

function join(test: Awaited<ReturnType<typeof installation>>, body: object) {
  return read(CreatedChannel, test.call('POST', '/channels', body))
}

describe('POST /api/notices/channels', () => {
  test('201 for each kind when a first message was delivered in the format of its service; no response has a secret', async () => {
    await using test = await installation()
    // The webhook verifier compares the timestamp with the real time.
    test.clock.set(new Date())
    const { url } = test.receiver
    await join(test, { kind: 'telegram', botToken: TOKEN, chatId: '42' })
    await join(test, { kind: 'discord', url: `${url}/api/webhooks/1/secret` })
    await join(test, { kind: 'ntfy', server: url, topic: 'agents', token: 'tk_secret' })
    const { secret } = await join(test, { kind: 'webhook', url: `${url}/hook?key=secret` })
    const [telegram, discord, ntfy, webhook] = test.receiver.deliveries
    expect(telegram?.path).toBe(`/bot${TOKEN}/sendMessage`)
    expect(JSON.parse(telegram?.body ?? '')).toMatchObject({ chat_id: '42' })
    expect(discord?.path).toBe('/api/webhooks/1/secret')
    expect(JSON.parse(discord?.body ?? '')).toMatchObject({ allowed_mentions: { parse: [] } })
    expect(ntfy?.headers.authorization).toBe('Bearer tk_secret')
    expect(JSON.parse(ntfy?.body ?? '')).toMatchObject({ topic: 'agents', priority: 3 })
    expect(new Webhook(secret ?? '').verify(webhook?.body ?? '', webhook?.headers ?? {})).toMatchObject({
      type: 'notice.test',
    })
    const text = await (await test.get('/channels')).text()
    expect(text).not.toContain('secret')
    const { channels } = NoticeChannelList.parse(JSON.parse(text))
    expect(channels.map(({ kind, to }) => [kind, to])).toEqual([
      ['telegram', 'chat 42'],
      ['discord', new URL(url).host],
      ['ntfy', `${new URL(url).host}/agents`],
      ['webhook', new URL(url).host],
    ])
    expect(JSON.stringify(test.platform.db.select().from(noticeChannels).all())).not.toContain('secret')
  })

  test('400 with the error of the service when the first message fails; nothing is stored', async () => {
    await using test = await installation()
    test.receiver.failWith({ status: 401, body: { ok: false, description: 'Unauthorized' } })
    const refused = await test.call('POST', '/channels', { kind: 'telegram', botToken: TOKEN, chatId: '42' })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: 'Telegram answered 401 (Unauthorized): nothing was saved' })
    expect(await read(NoticeChannelList, test.get('/channels'))).toEqual({ channels: [] })
  })

  test('400 when the address is private, unless the operator allows it', async () => {
    await using test = await installation({ SUMMARIZER_ALLOW_PRIVATE: 'false' })
    const refused = await test.call('POST', '/channels', { kind: 'webhook', url: `${test.receiver.url}/hook` })
    expect(refused.status).toBe(400)
    expect(test.receiver.deliveries).toEqual([])
  })

  test('400 when the kind is unknown or the token is invalid', async () => {
    await using test = await installation()
    for (const body of [
      { kind: 'pigeon' },
      { kind: 'telegram', botToken: 'no', chatId: '42' },
      { kind: 'telegram', botToken: TOKEN, chatId: 'a b' },
      { kind: 'ntfy', topic: 'a/b' },
      { kind: 'webhook', url: 'ftp://example.com' },
      { kind: 'discord', url: test.receiver.url, kinds: ['test'] },
    ]) {
      expect((await test.call('POST', '/channels', body)).status).toBe(400)
    }
  })

  test('429 when there are ten channels', async () => {
    await using test = await installation({ RATE_LIMIT_PASSWORD: '1000' })
    for (let count = 0; count < 10; count++) await join(test, { kind: 'discord', url: test.receiver.url })
    const refused = await test.call('POST', '/channels', { kind: 'discord', url: test.receiver.url })
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ limit: 10 })
  })
})

describe('PATCH, DELETE /api/notices/channels/:id and POST /api/notices/channels/:id/test', () => {
  test('200 and the channel gets only the selected kinds, and nothing after its deletion', async () => {
    await using test = await installation()
    const { channel } = await join(test, { kind: 'discord', url: test.receiver.url, name: 'Team' })
    expect(channel.kinds).toContain('down')
    const changed = await read(
      CreatedChannel.pick({ channel: true }),
      test.call('PATCH', `/channels/${channel.id}`, { kinds: ['given_up'] }),
    )
    expect(changed.channel).toMatchObject({ name: 'Team', kinds: ['given_up'] })
    await test.sendNotice('down')
    await test.sendNotice('given_up', 'It crashed five times.')
    const messages = await arrivals(test.receiver, 2)
    expect(JSON.parse(messages[1]?.body ?? '').content).toBe('Ada <b>bold</b> failed\nIt crashed five times.')
    expect(await read(ChannelTest, test.call('POST', `/channels/${channel.id}/test`, {}))).toEqual({
      delivered: true,
      error: null,
    })
    test.receiver.failWith(500)
    expect(await read(ChannelTest, test.call('POST', `/channels/${channel.id}/test`, {}))).toEqual({
      delivered: false,
      error: 'answered 500',
    })
    const gone = await test.web.request(`/api/notices/channels/${channel.id}`, {
      method: 'DELETE',
      headers: test.cookie,
    })
    expect(gone.status).toBe(200)
    expect(await read(NoticeChannelList, test.get('/channels'))).toEqual({ channels: [] })
  })

  test('200 when the channel is mail, with the error of the mail server if it fails; 400 when the address is unverified', async () => {
    await using test = await installation()
    const tryMail = () => test.call('POST', '/channels/mail/test', {})
    expect([(await tryMail()).status, test.mail.received]).toEqual([400, []])
    await write(test.platform.db, (tx) => void tx.update(users).set({ emailVerifiedAt: test.clock.now() }).run())
    expect(await read(ChannelTest, tryMail())).toEqual({ delivered: true, error: null })
    const mail = await test.arrival('ada@example.com', 'Test notification')
    expect(mail.text).toContain('This is a test')
    test.mail.refuse('The disk of the mail server is full')
    const refused = await read(ChannelTest, tryMail())
    expect(refused).toEqual({ delivered: false, error: expect.stringContaining('The disk of the mail server is full') })
  })

  test('503 NOT_CONFIGURED when no mail server is set', async () => {
    const { web, signIn } = testPlatform({ environment: { SMTP_URL: '' } })
    const { cookie } = await signIn('ada@example.com')
    const response = await web.request('/api/notices/channels/mail/test', json('POST', {}, cookie))
    expect([response.status, await response.json()]).toEqual([
      503,
      { error: 'This server sends no mail', code: 'NOT_CONFIGURED' },
    ])
  })

  test.each([
    [
      'telegram',
      { botToken: TOKEN, chatId: '42' },
      { description: 'Forbidden: bot was\nblocked' },
      'Forbidden: bot was blocked',
    ],
    ['discord', {}, { message: 'Unknown Webhook' }, 'Unknown Webhook'],
    ['ntfy', { topic: 'agents' }, { error: 'limit reached' }, 'limit reached'],
    ['webhook', {}, { error: 'nothing of what it says is told' }, null],
  ])(
    'the error of %s is returned unchanged, and that of a webhook as its status',
    async (kind, settings, body, words) => {
      await using test = await installation()
      const { url } = test.receiver
      const address = kind === 'ntfy' ? { server: url } : kind === 'telegram' ? {} : { url }
      const { channel } = await join(test, { kind, ...address, ...settings })
      test.receiver.failWith({ status: 403, body })
      const tried = await read(ChannelTest, test.call('POST', `/channels/${channel.id}/test`, {}))
      expect(tried).toEqual({ delivered: false, error: words === null ? 'answered 403' : `answered 403 (${words})` })
    },
  )

  test('401 without a session, 404 for a stranger', async () => {
    await using test = await installation()
    const { channel } = await join(test, { kind: 'discord', url: test.receiver.url })
    const path = `/channels/${channel.id}`
    const { cookie } = test.eve
    expect((await test.call('PATCH', path, { name: 'Mine' }, cookie)).status).toBe(404)
    expect((await test.call('POST', `${path}/test`, {}, cookie)).status).toBe(404)
    const deleting = test.web.request(`/api/notices${path}`, { method: 'DELETE', headers: cookie })
    expect((await deleting).status).toBe(404)
    for (const open of ['', '/settings', '/channels'])
      expect((await test.web.request(`/api/notices${open}`)).status).toBe(401)
    expect(await read(NoticeList, test.get('', cookie))).toEqual({ notices: [], next: null })
  })
})

describe('notifications to owners', () => {
  test('are sent by mail by default when action is needed, with the URL of the page and with names escaped', async () => {
    await using test = await installation()
    await test.sendNotice('approval_wanted', 'It wants to use delete_file.')
    const mail = await test.arrival('ada@example.com', 'needs your approval')
    expect(mail.subject).toBe('Ada <b>bold</b> needs your approval')
    expect(mail.text).toContain('https://stead.example/agents/ada-1')
    expect(mail.html ?? '').not.toContain('<b>bold</b>')
    await test.sendNotice('down')
    const { notices } = await test.list()
    expect(notices.map(({ kind, deliveries }) => [kind, deliveries.length])).toEqual([
      ['down', 0],
      ['approval_wanted', 1],
    ])
  })

  test('are sent once while a problem lasts, and once at its end', async () => {
    await using test = await installation()
    await join(test, { kind: 'discord', url: test.receiver.url })
    await test.sendNotice('down')
    await test.sendNotice('down')
    await arrivals(test.receiver, 2)
    await until('the note that it was taken', async () => (await test.list()).notices[0]?.deliveries[0]?.sentAt)
    await test.sendNotice('recovered')
    await arrivals(test.receiver, 3)
    await test.sendNotice('recovered')
    const { notices } = await test.list()
    expect(notices.map(({ kind }) => kind)).toEqual(['recovered', 'down'])
    expect(notices[1]?.endedAt).not.toBeNull()
  })

  test('are sent after quiet hours, unless the problem ended in the meantime', async () => {
    await using test = await installation()
    await join(test, { kind: 'discord', url: test.receiver.url })
    const quietHours = { from: '11:00', to: '13:00', timeZone: 'UTC' }
    await read(NoticeSettings, test.call('PUT', '/settings', { quietHours }))
    await test.sendNotice('down')
    await test.sendNotice('task_failed', 'A scheduled task failed.')
    await test.sendNotice('recovered')
    expect(
      test.platform.db
        .select()
        .from(noticeDeliveries)
        .all()
        .every(({ sentAt }) => sentAt === null),
    ).toBe(true)
    expect(test.receiver.deliveries).toHaveLength(1)
    test.clock.advance(3_600_000)
    const messages = await arrivals(test.receiver, 2)
    expect(messages[1]?.body).toContain('failed a task')
    expect(messages).toHaveLength(2)
  })

  test('are repeated in the same channel until the problem ends', async () => {
    await using test = await installation()
    await join(test, { kind: 'webhook', url: test.receiver.url })
    await read(NoticeSettings, test.call('PUT', '/settings', { resendMinutes: 30 }))
    await test.sendNotice('down')
    await arrivals(test.receiver, 2)
    await until('the note that it was taken', async () => (await test.list()).notices[0]?.deliveries[0]?.sentAt)
    await remindOwners(test.platform)
    expect(test.receiver.deliveries).toHaveLength(2)
    test.clock.advance(30 * 60_000)
    await remindOwners(test.platform)
    const messages = await arrivals(test.receiver, 3)
    expect(messages[2]?.headers['webhook-id']).toBe(`${messages[1]?.headers['webhook-id']}_1`)
    expect((await test.list()).notices[0]).toMatchObject({ reminders: 1, title: expect.stringContaining('Still: ') })
  })

  test('are not sent for a muted agent', async () => {
    await using test = await installation()
    await read(NoticeSettings, test.call('PUT', '/settings', { mutedAgents: [AGENT.id] }))
    await test.sendNotice('given_up')
    expect(test.platform.db.select().from(notices).all()).toEqual([])
  })

  test('are delivered after an outage of one receiver, without delaying others', async () => {
    await using test = await installation()
    await join(test, { kind: 'discord', url: `${test.receiver.url}/one` })
    await using other = await startReceiver()
    await join(test, { kind: 'discord', url: other.url })
    test.receiver.failWith(503)
    await test.sendNotice('given_up')
    await arrivals(other, 2)
    await until('the failed attempt', async () =>
      (await test.list()).notices[0]?.deliveries.some(({ error }) => error === 'answered 503'),
    )
    test.clock.advance(5000)
    await arrivals(test.receiver, 2)
  })
})

test('PUT /api/notices/settings: 200 keeps omitted fields, 400 when times or zones are invalid', async () => {
  await using test = await installation()
  const quietHours = { from: '22:00', to: '07:00', timeZone: 'Europe/Berlin' }
  await read(NoticeSettings, test.call('PUT', '/settings', { quietHours, mailKinds: ['down'] }))
  const settings = await read(NoticeSettings, test.call('PUT', '/settings', { resendMinutes: 60 }))
  expect(settings).toEqual({
    mail: { available: true, kinds: ['down'] },
    quietHours,
    resendMinutes: 60,
    mutedAgents: [],
  })
  for (const body of [
    { quietHours: { ...quietHours, from: '24:00' } },
    { quietHours: { ...quietHours, timeZone: 'Nowhere/City' } },
    { quietHours: { from: '22:00', to: '22:00', timeZone: 'UTC' } },
    { resendMinutes: 1 },
    { mailKinds: ['everything'] },
  ]) {
    expect((await test.call('PUT', '/settings', body)).status).toBe(400)
  }
})

test('GET /api/notices: 200 page by page, newest first', async () => {
  await using test = await installation()
  for (let count = 1; count <= 5; count++) await test.sendNotice('task_failed', `Task ${count}`)
  const texts: string[] = []
  for (let before: number | null | undefined; before !== null; ) {
    const query: string = before === undefined ? '?limit=2' : `?limit=2&before=${before}`
    const page = await read(NoticeList, test.get(query))
    texts.push(...page.notices.map(({ text }) => text))
    before = page.next
  }
  expect(texts).toEqual(['Task 5', 'Task 4', 'Task 3', 'Task 2', 'Task 1'])
})

test('afterQuietHours returns the end of quiet hours when they span midnight or a clock change', () => {
  const quiet = { from: '22:00', to: '07:00', timeZone: 'Europe/Berlin' }
  const at = (now: string) => afterQuietHours(quiet, new Date(now)).toISOString()
  expect(at('2026-06-15T19:59:00Z')).toBe('2026-06-15T19:59:00.000Z')
  expect(at('2026-06-15T20:00:00Z')).toBe('2026-06-16T05:00:00.000Z')
  expect(at('2026-06-16T04:59:59Z')).toBe('2026-06-16T05:00:00.000Z')
  expect(at('2026-06-16T05:00:00Z')).toBe('2026-06-16T05:00:00.000Z')
  // Summer time ends in this night.
  expect(at('2026-10-24T21:00:00Z')).toBe('2026-10-25T06:00:00.000Z')
})
