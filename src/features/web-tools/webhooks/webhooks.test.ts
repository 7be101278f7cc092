import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { type AgentQuestion, startAgentDouble } from '../../../../tests/harness/doubles/agent.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { atMostMs } from '../../../../tests/harness/speed/promised-times.ts'
import { until } from '../../../../tests/harness/until.ts'
import { StartupError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { Inbox } from '../../conversations/inbox/schemas.ts'
import { radioStreams } from '../radio/tables.ts'
import { webhookEventsJob } from './receive.ts'
import { webhookEvents } from './tables.ts'
import { createMailVerifier } from './web.ts'

const VIDEO_SECRET = 'mux-signing-secret'
const MAIL_SECRET = `whsec_${Buffer.from('a secret of the mail service').toString('base64')}`
const SENDER = 'ada@example.com'

type Test = Awaited<ReturnType<typeof openTestInstallation>>

async function openTestInstallation(environment: Record<string, string> = {}, port: number | null = null) {
  const test = testPlatform({
    environment: {
      WEBHOOK_VIDEO_SECRET: VIDEO_SECRET,
      WEBHOOK_EMAIL_SECRET: MAIL_SECRET,
      EMAIL_ALLOWED_SENDERS: `Ada@Example.com, bo@example.com`,
      ...environment,
    },
  })
  const { platform, clock, web } = test
  const { user, cookie } = await test.signIn()
  const kind = { name: 'Ada', model: 'm', plan: 'label', aiProvider: 'openrouter', status: 'running' } as const
  const agentId = await write(platform.db, (tx) => {
    const agent = insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: user.id })
    tx.update(agents).set({ port }).run()
    tx.insert(radioStreams)
      .values({
        id: 'radio_1',
        userId: user.id,
        providerId: 'stream-1',
        name: 'Ada',
        wallet: '0x0',
        status: 'created',
        statusAt: new Date(0),
        createdAt: clock.now(),
      })
      .run()
    return agent.id
  })
  const send = (path: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
    web.request(path, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } })
  return {
    ...test,
    agentId,
    cookie,
    send,
    sendVideo: (body: string, headers = signVideo(body, clock.now())) => send('/api/webhooks/video', body, headers),
    sendMail: (body: string, id = 'msg_1', headers = signMail(body, id)) => send('/api/webhooks/email', body, headers),
    stream: () => platform.db.select().from(radioStreams).get(),
    events: () => platform.db.select().from(webhookEvents).all(),
    inbox: async (query = '') => (await read(Inbox, web.request(`/api/inbox${query}`, { headers: cookie }))).messages,
  }
}

function signVideo(body: string, time: Date, secret = VIDEO_SECRET): Record<string, string> {
  const seconds = Math.floor(time.getTime() / 1000)
  const signature = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return { 'mux-signature': `t=${seconds},v1=${signature}` }
}

function signMail(body: string, id: string, { time = new Date(), secret = MAIL_SECRET, prefix = 'svix' } = {}) {
  return {
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: String(Math.floor(time.getTime() / 1000)),
    [`${prefix}-signature`]: `v1,AAAA ${new Webhook(secret).sign(id, time, body)}`,
  }
}

function videoEvent(type: string, more: object = {}, data: object = {}): string {
  return JSON.stringify({
    type,
    id: 'event-1',
    created_at: '2026-01-01T10:00:00.000Z',
    data: { id: 'stream-1', stream_key: 'canary-stream-key', ...data },
    ...more,
  })
}

function mail(test: Test, data: object = {}, type = 'email.received'): string {
  const to = `${test.agentId}@agents.example`
  return JSON.stringify({ type, data: { from: SENDER, to, subject: 'Hi', text: 'Hello', email_id: 'e1', ...data } })
}

test('POST /api/webhooks/video: 200 updates the stream for live_stream.active and idle, and stores no stream key', async () => {
  const test = await openTestInstallation()
  const response = await test.sendVideo(videoEvent('video.live_stream.active'))
  expect([response.status, await response.json()]).toEqual([200, { received: true }])
  expect(test.stream()).toMatchObject({ status: 'active', statusAt: new Date('2026-01-01T10:00:00Z') })
  const idle = { id: 'event-2', created_at: '2026-01-01T11:00:00Z' }
  expect((await test.sendVideo(videoEvent('video.live_stream.idle', idle))).status).toBe(200)
  expect(test.stream()?.status).toBe('idle')
  expect(test.events().map(({ id, type, subject }) => [id, type, subject])).toEqual([
    ['event-1', 'video.live_stream.active', 'stream-1'],
    ['event-2', 'video.live_stream.idle', 'stream-1'],
  ])
  expect(dumpTables(test.platform.db)).not.toContain('canary-stream-key')
})

test('POST /api/webhooks/video: 200 stores asset.ready as the newest recording of its stream', async () => {
  const test = await openTestInstallation()
  const asset = { id: 'asset-1', live_stream_id: 'stream-1', playback_ids: [{ id: 'play-1' }], duration: 901.4 }
  expect((await test.sendVideo(videoEvent('video.asset.ready', {}, asset))).status).toBe(200)
  expect(test.stream()).toMatchObject({
    status: 'created',
    recordingAssetId: 'asset-1',
    recordingPlaybackId: 'play-1',
    recordingSeconds: 901,
  })
})

test('POST /api/webhooks/video: 200 without effect when an event is repeated, or an older one comes late', async () => {
  const test = await openTestInstallation()
  await test.sendVideo(videoEvent('video.live_stream.active'))
  const idle = videoEvent('video.live_stream.idle', { id: 'event-2', created_at: '2026-01-01T11:00:00Z' })
  await test.sendVideo(idle)
  const again = await test.sendVideo(videoEvent('video.live_stream.active'))
  expect([again.status, await again.json()]).toEqual([200, { received: true }])
  await test.sendVideo(videoEvent('video.live_stream.active', { id: 'event-3', created_at: '2026-01-01T10:30:00Z' }))
  expect(test.stream()?.status).toBe('idle')
  expect(test.events()).toHaveLength(3)
})

test('POST /api/webhooks/video: 401 without a signature, 403 with a wrong one, without effect', async () => {
  const test = await openTestInstallation()
  const body = videoEvent('video.live_stream.active')
  const now = test.clock.now()
  const right = signVideo(body, now)['mux-signature'] ?? ''
  const bare = await test.sendVideo(body, {})
  expect([bare.status, await bare.json()]).toEqual([401, { error: 'Unauthorized' }])
  const minutes = (count: number) => new Date(now.getTime() + count * 60_000)
  const wrong = [
    'nonsense',
    't=,v1=',
    't=abc,v1=abc',
    right.replace('v1=', 'v0='),
    right.replace(/t=\d/, 't=3'),
    right.split(',')[1] ?? '',
    signVideo(body, now, 'another secret')['mux-signature'] ?? '',
    signVideo(`${body} `, now)['mux-signature'] ?? '',
    signVideo(JSON.stringify(JSON.parse(body), null, 1), now)['mux-signature'] ?? '',
    signVideo(body, minutes(-5.1))['mux-signature'] ?? '',
    signVideo(body, minutes(5.1))['mux-signature'] ?? '',
  ]
  for (const signature of wrong) {
    const response = await test.sendVideo(body, { 'mux-signature': signature })
    expect([signature, response.status, await response.json()]).toEqual([
      signature,
      403,
      { error: 'Invalid signature' },
    ])
  }
  for (let index = right.indexOf('v1=') + 3; index < right.length; index++) {
    const flipped = right.slice(0, index) + (right[index] === '0' ? '1' : '0') + right.slice(index + 1)
    expect((await test.sendVideo(body, { 'mux-signature': flipped })).status).toBe(403)
  }
  expect(test.stream()?.status).toBe('created')
  expect(test.events()).toEqual([])
  expect((await test.sendVideo(body, signVideo(body, minutes(-4.9)))).status).toBe(200)
})

test('POST /api/webhooks/video: 400 when a signed payload has another format, 200 for any other event', async () => {
  const test = await openTestInstallation()
  for (const body of ['', 'null', '[]', '{"type":"video.asset.ready"}', 'not json']) {
    const response = await test.sendVideo(body)
    expect([body, response.status, await response.json()]).toEqual([body, 400, { error: 'Invalid payload' }])
  }
  expect((await test.sendVideo(videoEvent('video.upload.created'))).status).toBe(200)
  expect((await test.sendVideo(videoEvent('video.live_stream.active', { id: 'e2' }, { id: 'unknown' }))).status).toBe(
    200,
  )
})

test('POST /api/webhooks/video: 200 when the signature is over the raw bytes, including a byte order mark', async () => {
  const test = await openTestInstallation()
  const body = `\ufeff${videoEvent('video.live_stream.active')}`
  expect((await test.sendVideo(body)).status).toBe(400)
  const unmarked = await test.sendVideo(body, signVideo(body.slice(1), test.clock.now()))
  expect(unmarked.status).toBe(403)
})

test.each([
  ['video', 'WEBHOOK_VIDEO_SECRET'],
  ['email', 'WEBHOOK_EMAIL_SECRET'],
])('POST /api/webhooks/%s: 503 when no secret is set, whatever the signature', async (name, setting) => {
  const { web } = testPlatform()
  const body = videoEvent('video.live_stream.active')
  const headers = {
    ...signVideo(body, new Date(), ''),
    'svix-id': 'm',
    'svix-timestamp': '1',
    'svix-signature': 'v1,a',
  }
  const response = await web.request(`/api/webhooks/${name}`, { method: 'POST', body, headers })
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({
    error: `This webhook is not configured: set ${setting}`,
    code: 'NOT_CONFIGURED',
  })
})

test('POST /api/webhooks/email: 200 processed stores a mail in the inbox of its agent, which gets a message', async () => {
  const questions: AgentQuestion[] = []
  await using double = startAgentDouble((question) => {
    questions.push(question)
    return 'Thank you.'
  })
  const test = await openTestInstallation({}, double.port)
  await using _jobs = startJobs(test.platform)
  const html = '<html><style>b{}</style><p>Dear <b>Ada</b>,</p><script>alert(1)</script><p>see &amp; you</p></html>'
  const response = await test.sendMail(mail(test, { from: `Ada <${SENDER.toUpperCase()}>`, text: undefined, html }))
  expect([response.status, await response.json()]).toEqual([200, { received: true, action: 'processed' }])
  await until('the delivery', async () => (await test.inbox())[0]?.status === 'delivered')
  expect(await test.inbox()).toEqual([
    {
      id: expect.stringMatching(/^mail_/),
      agentId: test.agentId,
      from: SENDER,
      subject: 'Hi',
      text: 'Dear Ada,\n\nsee & you',
      status: 'delivered',
      reply: 'Thank you.',
      error: null,
      receivedAt: expect.any(String),
      deliveredAt: expect.any(String),
      files: [],
      answer: null,
    },
  ])
  expect(questions).toHaveLength(1)
  expect(questions[0]?.sessionKey).toBe(`mail:${SENDER}`)
  expect(questions[0]?.message).toContain(`From: ${SENDER}\nSubject: Hi\n\nDear Ada,\n\nsee & you`)
})

test('POST /api/webhooks/email: 200 with plus addresses, lists of addresses, and Standard Webhooks headers', async () => {
  const test = await openTestInstallation()
  const lists = [
    `inbox+${test.agentId}@x.example`,
    ['nobody@x.example', `Agent <${test.agentId.toUpperCase()}@x.example>`],
  ]
  for (const [index, to] of lists.entries()) {
    const body = mail(test, { to })
    const id = `msg_${index}`
    const response = await test.sendMail(body, id, signMail(body, id, { prefix: 'webhook' }))
    expect(await response.json()).toEqual({ received: true, action: 'processed' })
  }
  expect(await test.inbox()).toHaveLength(2)
})

test('POST /api/webhooks/email: 200 processed when a mail is repeated, also concurrently, which is stored once', async () => {
  const test = await openTestInstallation()
  const body = mail(test)
  const answers = await Promise.all(Array.from({ length: 20 }, () => test.sendMail(body)))
  for (const response of answers) expect(await response.json()).toEqual({ received: true, action: 'processed' })
  expect(await test.inbox()).toHaveLength(1)
})

test('POST /api/webhooks/email: 200 rejected unless the sender is allowed and the address is an agent’s', async () => {
  const test = await openTestInstallation()
  const dmarc = (result: string) => ({ headers: { 'Authentication-Results': `mx; spf=pass; dmarc=${result}` } })
  const rejected = [
    { from: 'eve@example.com' },
    { from: `${SENDER}.evil.example` },
    { from: `${SENDER}, eve@example.com` },
    { from: `"${SENDER}" <eve@example.com>` },
    { from: '' },
    { from: 7 },
    { to: 'nobody@agents.example' },
    { to: [] },
    { to: test.agentId.slice(0, -1) },
    dmarc('fail'),
    dmarc('none'),
  ]
  for (const [index, data] of rejected.entries()) {
    const response = await test.sendMail(mail(test, data), `msg_${index}`)
    expect([data, await response.json()]).toEqual([data, { received: true, action: 'rejected' }])
  }
  expect(await test.inbox()).toEqual([])
  const passed = await test.sendMail(mail(test, dmarc('pass')), 'msg_passed')
  expect(await passed.json()).toEqual({ received: true, action: 'processed' })
})

test('POST /api/webhooks/email: 200 rate_limited for the eleventh mail of one sender in an hour', async () => {
  const test = await openTestInstallation()
  const action = async (id: string, data: object = {}) => {
    const body = mail(test, data)
    return (await test.sendMail(body, id)).json()
  }
  for (let index = 0; index < 10; index++) {
    expect(await action(`msg_${index}`)).toEqual({ received: true, action: 'processed' })
  }
  expect(await action('msg_10')).toEqual({ received: true, action: 'rate_limited' })
  expect(await action('msg_11', { from: 'bo@example.com' })).toEqual({ received: true, action: 'processed' })
  test.clock.advance(3_600_001)
  expect(await action('msg_12')).toEqual({ received: true, action: 'processed' })
})

test('POST /api/webhooks/email: 200 fetch_error when a mail has no body; a long one is cut to 5000 characters', async () => {
  const test = await openTestInstallation()
  const bare = await test.sendMail(mail(test, { text: null }), 'msg_1')
  expect(await bare.json()).toEqual({ received: true, action: 'fetch_error' })
  expect(await test.inbox()).toEqual([])
  await test.sendMail(mail(test, { text: '😀'.repeat(6000) }), 'msg_2')
  expect((await test.inbox())[0]?.text).toBe('😀'.repeat(5000))
})

test('POST /api/webhooks/email: 200 within two seconds when a body nests 50,000 tags', async () => {
  const test = await openTestInstallation()
  const start = performance.now()
  const response = await test.sendMail(mail(test, { text: null, html: `${'<div>'.repeat(50_000)}Hello` }))
  expect(response.status).toBe(200)
  expect(performance.now() - start).toBeLessThan(atMostMs(2000))
})

test('POST /api/webhooks/email: 200 with the text of an HTML part, parsed in a separate process', async () => {
  const test = await openTestInstallation()
  const html = '<style>p{}</style><p>Tea &amp; cake</p><a href="https://a.test">https://a.test</a><img src="x">'
  const delays: number[] = []
  let last = performance.now()
  const pulse = setInterval(() => {
    delays.push(performance.now() - last)
    last = performance.now()
  }, 5)
  await test.sendMail(mail(test, { html: html + '<b>'.repeat(60_000) }), 'msg_1')
  clearInterval(pulse)
  expect((await test.inbox())[0]?.text).toBe('Tea & cake\n\nhttps://a.test')
  // On the main thread these tags take a second.
  expect(Math.max(...delays)).toBeLessThan(atMostMs(300))
  await test.sendMail(mail(test, { html: null, text: 'if a < b & c > d' }), 'msg_2')
  expect((await test.inbox()).map(({ text }) => text)).toContain('if a < b & c > d')
})

test('POST /api/webhooks/email: 200 without effect for outbound events', async () => {
  const test = await openTestInstallation()
  for (const type of ['email.sent', 'email.delivered', 'email.bounced', 'email.complained', 'email.opened']) {
    const response = await test.sendMail(mail(test, { bounce: { message: 'no' } }, type), type)
    expect([response.status, await response.json()]).toEqual([200, { received: true }])
  }
  expect(await test.inbox()).toEqual([])
})

test('POST /api/webhooks/email: 401 when the signature is missing or wrong, 400 when the payload has another format', async () => {
  const test = await openTestInstallation()
  const body = mail(test)
  const right = signMail(body, 'msg_1')
  const minutes = (count: number) => new Date(Date.now() + count * 60_000)
  for (const name of Object.keys(right)) {
    const { [name]: _, ...rest } = right
    const response = await test.sendMail(body, 'msg_1', rest)
    expect([response.status, await response.json()]).toEqual([401, { error: 'Missing signature headers' }])
  }
  const wrong = [
    { ...right, 'svix-id': 'msg_2' },
    { ...right, 'svix-timestamp': '1' },
    { ...right, 'svix-signature': 'v1,AAAA' },
    { ...right, 'svix-signature': 'nonsense' },
    { ...right, 'svix-signature': (right['svix-signature'] ?? '').replaceAll('v1,', 'v2,') },
    signMail(`${body} `, 'msg_1'),
    signMail(body, 'msg_1', { time: minutes(-5.1) }),
    signMail(body, 'msg_1', { time: minutes(5.1) }),
    signMail(body, 'msg_1', { secret: `whsec_${Buffer.from('another secret').toString('base64')}` }),
  ]
  for (const headers of wrong) {
    const response = await test.sendMail(body, 'msg_1', headers)
    expect([response.status, await response.json()]).toEqual([401, { error: 'Invalid signature' }])
  }
  expect(test.events()).toEqual([])
  for (const bad of ['null', '{}', '[1]', '{"type":7}', 'not json']) {
    const response = await test.sendMail(bad)
    expect([bad, response.status, await response.json()]).toEqual([bad, 400, { error: 'Invalid payload' }])
  }
})

test('a mail waits while its agent does not run, and is delivered when it does', async () => {
  const test = await openTestInstallation({}, null)
  await using _jobs = startJobs(test.platform)
  await test.sendMail(mail(test))
  await until('the first attempt', () => test.logLines.some((line) => line.includes('job failed')))
  expect((await test.inbox())[0]?.status).toBe('queued')
  await using double = startAgentDouble(() => 'Read.')
  await write(test.platform.db, (tx) => tx.update(agents).set({ port: double.port }).run())
  await until('the delivery', async () => {
    test.clock.advance(1000)
    return (await test.inbox())[0]?.status === 'delivered'
  })
  expect(double.questions).toHaveLength(1)
})

test('GET /api/inbox: 200 in pages, newest first; 404 for a stranger’s agent; 401 without a session', async () => {
  const test = await openTestInstallation()
  for (const id of ['a', 'b', 'c']) await test.sendMail(mail(test, { subject: id }), id)
  const page = await test.inbox('?limit=2')
  expect(page.map(({ subject }) => subject)).toEqual(['c', 'b'])
  expect((await test.inbox(`?before=${page[1]?.id}`)).map(({ subject }) => subject)).toEqual(['a'])
  const eve = (await test.signIn('eve@example.com')).cookie
  const ask = (query: string, headers: Record<string, string>) => test.web.request(`/api/inbox${query}`, { headers })
  expect((await read(Inbox, ask('', eve))).messages).toEqual([])
  expect((await ask(`?agentId=${test.agentId}`, eve)).status).toBe(404)
  expect((await ask(`?agentId=${test.agentId}`, test.cookie)).status).toBe(200)
  expect((await ask('?limit=0', test.cookie)).status).toBe(400)
  expect((await ask('', {})).status).toBe(401)
})

test('webhook events are deleted after a week', async () => {
  const test = await openTestInstallation()
  await test.sendVideo(videoEvent('video.live_stream.active'))
  const job = webhookEventsJob(test.platform)
  test.clock.advance(6 * 86_400_000)
  await job.run(new AbortController().signal)
  expect(test.events()).toHaveLength(1)
  test.clock.advance(2 * 86_400_000)
  await job.run(new AbortController().signal)
  expect(test.events()).toEqual([])
})

test('createMailVerifier throws StartupError when the secret is not base64', () => {
  expect(() => createMailVerifier('whsec_not base64!')).toThrow(StartupError)
})
