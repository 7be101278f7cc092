import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { type AgentQuestion, startAgentDouble } from '../../../../tests/harness/doubles/agent.ts'
import { startReceiver } from '../../../../tests/harness/doubles/receivers.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { agents } from '../../agents/registry/tables.ts'
import { ChangedWebhookChannel, WebhookAccepted, WebhookChannel } from './schemas.ts'

type Signing = { id?: string; time?: Date; secret?: string; headers?: Record<string, string> }

/** Ada's agent, which a program of hers may speak to, and where its answers arrive. */
async function open(answer: (question: AgentQuestion) => string | Response | Promise<string> = () => 'Fine.') {
  const receiver = await startReceiver()
  const double = startAgentDouble(answer)
  const house = await agentOwner({ environment: { SUMMARIZER_ALLOW_PRIVATE: 'true' } })
  const jobs = startJobs(house.platform)
  await write(house.platform.db, (tx) =>
    tx.update(agents).set({ port: double.port }).where(eq(agents.id, house.agent.id)).run(),
  )
  const path = `/api/agents/${house.agent.id}/webhook-channel`
  const put = (body: object) => house.asOwner(path, 'PUT', body)
  const { secret, channel } = await read(ChangedWebhookChannel, put({ url: `${receiver.url}?token=hidden` }))
  return {
    ...house,
    receiver,
    double,
    path,
    put,
    secret: secret ?? '',
    channel,
    show: () => read(WebhookChannel, house.asOwner(path)),
    post(body: string, { id = 'msg_1', time = new Date(), secret: by = secret ?? '', headers }: Signing = {}) {
      const signed = {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
        'webhook-signature': new Webhook(by).sign(id, time, body),
      }
      const request = { method: 'POST', body, headers: headers ?? signed }
      return house.web.request(`/api/webhooks/agents/${house.agent.id}`, request)
    },
    async [Symbol.asyncDispose]() {
      await jobs[Symbol.asyncDispose]()
      await Promise.all([receiver[Symbol.asyncDispose](), double[Symbol.asyncDispose]()])
    },
  }
}

const message = (text = 'How are you?', more: object = {}) => JSON.stringify({ text, ...more })

test('POST /api/webhooks/agents/:id: 202 for a signed message; the answer of the agent is posted, signed with the same secret', async () => {
  await using house = await open()
  const response = await house.post(message('How are you?', { conversation: 'door-7' }))
  const accepted = await read(WebhookAccepted, response)
  expect([response.status, accepted]).toEqual([202, { id: expect.stringMatching(/^whd_/), status: 'queued' }])
  const [sent] = await until('the answer', () =>
    house.receiver.deliveries.length > 0 ? house.receiver.deliveries : null,
  )
  const { headers, body } = sent ?? { headers: {}, body: '' }
  expect(new Webhook(house.secret).verify(body, Object.fromEntries(new Headers(headers)))).toMatchObject({
    version: 1,
    type: 'agent.answer',
    data: { agentId: house.agent.id, deliveryId: 'msg_1', conversation: 'door-7', status: 'answered', text: 'Fine.' },
  })
  expect(house.double.questions).toMatchObject([{ message: 'How are you?', sessionKey: 'webhook:door-7' }])
  const shown = await until('that it is noted', async () => {
    const channel = await house.show()
    return channel.lastSentAt ? channel : null
  })
  expect(shown).toMatchObject({
    isOn: true,
    sendsTo: new URL(house.receiver.url).origin,
    lastError: null,
    deliveries: [{ deliveryId: 'msg_1', status: 'answered', answer: { status: 'sent' } }],
  })
  expect(JSON.stringify(shown)).not.toContain('hidden')
  expect(shown.inbound).toEndWith(`/api/webhooks/agents/${house.agent.id}`)
})

test('POST /api/webhooks/agents/:id: what comes again, however often at once, is asked once; 200 says what became of it', async () => {
  await using house = await open()
  const responses = await Promise.all(Array.from({ length: 10 }, () => house.post(message())))
  expect(responses.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 9 }, () => 200), 202])
  await until('the answer', () => house.receiver.deliveries.length > 0)
  const again = await house.post(message())
  expect([again.status, (await read(WebhookAccepted, again)).status]).toEqual([200, 'answered'])
  expect((await house.post(message('Another'), { id: 'msg_2' })).status).toBe(202)
  await until('the other answer', () => house.receiver.deliveries.length === 2)
  expect(house.double.questions).toHaveLength(2)
})

test('POST /api/webhooks/agents/:id: 401 without a signature, with a wrong one, for another body, outside of five minutes, and for an agent without the channel', async () => {
  await using house = await open()
  const minutes = (count: number) => new Date(Date.now() + count * 60_000)
  const right = message()
  const wrong = [
    house.post(right, { headers: {} }),
    house.post(right, { secret: `whsec_${Buffer.from('another secret').toString('base64')}` }),
    house.post(right, { time: minutes(-5.1) }),
    house.post(right, { time: minutes(5.1) }),
    house.post(`${right} `, {
      headers: {
        'webhook-id': 'm',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': new Webhook(house.secret).sign('m', new Date(), right),
      },
    }),
  ]
  for (const response of await Promise.all(wrong)) expect(response.status).toBe(401)
  expect((await house.asOwner(house.path, 'DELETE')).status).toBe(200)
  const closed = await house.post(right)
  expect([closed.status, await closed.json()]).toEqual([401, { error: 'Invalid signature' }])
  expect(house.double.questions).toEqual([])
})

test('POST /api/webhooks/agents/:id: 400 for another form, 413 beyond 64 KB, 429 beyond 120 a minute', async () => {
  await using house = await open()
  for (const body of [
    '',
    'null',
    '{}',
    '{"text":" "}',
    message('x', { conversation: 'a b' }),
    message('x'.repeat(20_001)),
  ]) {
    expect((await house.post(body)).status).toBe(400)
  }
  expect((await house.post(message('x'.repeat(70_000)))).status).toBe(413)
  expect((await house.post(message(), { id: 'x'.repeat(201) })).status).toBe(400)
  const statuses = await Promise.all(Array.from({ length: 130 }, async () => (await house.post('')).status))
  expect(statuses).toContain(429)
  expect(house.double.questions).toEqual([])
})

test('POST /api/webhooks/agents/:id: 429 while a hundred messages wait for an agent that does not answer, and 202 once it has', async () => {
  const gate = Promise.withResolvers<string>()
  await using house = await open(() => gate.promise)
  for (let count = 0; count < 100; count++) {
    expect((await house.post(message(), { id: `msg_${count}` })).status).toBe(202)
  }
  const refused = await house.post(message(), { id: 'one_more' })
  expect([refused.status, await refused.json()]).toMatchObject([429, { current: 100, limit: 100 }])
  expect((await house.post(message(), { id: 'msg_7' })).status).toBe(200)
  gate.resolve('Fine.')
  await until('room for another', async () => (await house.post(message(), { id: 'one_more' })).status === 202)
})

test('an answer that is not taken is sent again and told on the page; what failed at the agent is told to the receiver', async () => {
  const interrupted = () =>
    Response.json({ error: { message: 'Interrupted', type: 'conflict', code: 'TURN_INTERRUPTED' } }, { status: 409 })
  await using house = await open(interrupted)
  house.receiver.failWith(500)
  await house.post(message())
  const failing = await until('the refusal', async () => (await house.show()).lastError)
  expect(failing.message).toBe('The address answered 500')
  await until('another attempt', () => {
    house.clock.advance(1000)
    return house.receiver.deliveries.length === 2
  })
  const ids = house.receiver.deliveries.map(({ headers }) => new Headers(headers).get('webhook-id'))
  expect(ids[1]).toBe(ids[0] ?? null)
  const { data } = JSON.parse(house.receiver.deliveries[1]?.body ?? '')
  expect(data).toMatchObject({ status: 'failed', text: null, error: expect.stringContaining('send the message again') })
}, 300_000)

test('PUT /api/agents/:id/webhook-channel: the secret is shown once; a new one ends the one before; GET and DELETE; 400, and a stranger’s 404', async () => {
  await using house = await open()
  expect(house.secret).toStartWith('whsec_')
  const url = `${house.receiver.url}?again`
  expect((await read(ChangedWebhookChannel, house.put({ url }))).secret).toBeNull()
  expect((await house.post(message())).status).toBe(202)
  const { secret } = await read(ChangedWebhookChannel, house.put({ url, newSecret: true }))
  expect((await house.post(message(), { id: 'msg_2' })).status).toBe(401)
  expect((await house.post(message(), { id: 'msg_2', secret: secret ?? '' })).status).toBe(202)
  expect((await house.put({ url: 'ftp://example.com' })).status).toBe(400)
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    expect((await house.asStranger(house.path, method, { url })).status).toBe(404)
  }
  expect((await house.asOwner(house.path, 'DELETE')).status).toBe(200)
  expect(await house.show()).toMatchObject({ isOn: false, sendsTo: null })
})

test('POST /api/webhooks/agents/:id: 429 after 120 requests of one /64, whatever ids they name', async () => {
  const { face } = testPlatform()
  const statuses: number[] = []
  for (let index = 0; index <= 120; index++) {
    const address = `2001:db8:1:2::${index.toString(16)}`
    const id = `${index}${'a'.repeat(12_000)}`
    statuses.push((await face('web', { address }).request(`/api/webhooks/agents/${id}`, { method: 'POST' })).status)
  }
  expect(statuses.slice(0, 120)).toEqual(Array(120).fill(401))
  expect(statuses[120]).toBe(429)
})

test('POST /api/webhooks/agents/:id: 429 after 120 signed requests for one id from any addresses; unsigned ones do not count', async () => {
  await using house = await open()
  const id = 'msg_1'
  const body = message()
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': new Webhook(house.secret).sign(id, new Date(), body),
  }
  const post = async (index: number, signed: Record<string, string>) => {
    const api = house.face('web', { address: `198.51.100.${index}` })
    return (await api.request(`/api/webhooks/agents/${house.agent.id}`, { method: 'POST', body, headers: signed }))
      .status
  }
  for (let index = 1; index <= 130; index++)
    expect(await post(index, { ...headers, 'webhook-signature': 'v1,x' })).toBe(401)
  const statuses: number[] = []
  for (let index = 1; index <= 121; index++) statuses.push(await post(index, headers))
  expect(statuses.slice(0, 120).every((status) => status === 202 || status === 200)).toBe(true)
  expect(statuses[120]).toBe(429)
})
