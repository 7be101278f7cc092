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

/** Creates Ada's agent with a webhook channel and a receiver for its answers. */
async function open(answer: (question: AgentQuestion) => string | Response | Promise<string> = () => 'Fine.') {
  const receiver = await startReceiver()
  const double = startAgentDouble(answer)
  const installation = await agentOwner({ environment: { SUMMARIZER_ALLOW_PRIVATE: 'true' } })
  const jobs = startJobs(installation.platform)
  await write(installation.platform.db, (tx) =>
    tx.update(agents).set({ port: double.port }).where(eq(agents.id, installation.agent.id)).run(),
  )
  const path = `/api/agents/${installation.agent.id}/webhook-channel`
  const put = (body: object) => installation.asOwner(path, 'PUT', body)
  const { secret, channel } = await read(ChangedWebhookChannel, put({ url: `${receiver.url}?token=hidden` }))
  return {
    ...installation,
    receiver,
    double,
    path,
    put,
    secret: secret ?? '',
    channel,
    show: () => read(WebhookChannel, installation.asOwner(path)),
    post(body: string, { id = 'msg_1', time = new Date(), secret: by = secret ?? '', headers }: Signing = {}) {
      const signed = {
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(time.getTime() / 1000)),
        'webhook-signature': new Webhook(by).sign(id, time, body),
      }
      const request = { method: 'POST', body, headers: headers ?? signed }
      return installation.web.request(`/api/webhooks/agents/${installation.agent.id}`, request)
    },
    async [Symbol.asyncDispose]() {
      await jobs[Symbol.asyncDispose]()
      await Promise.all([receiver[Symbol.asyncDispose](), double[Symbol.asyncDispose]()])
    },
  }
}

const message = (text = 'How are you?', more: object = {}) => JSON.stringify({ text, ...more })

test('POST /api/webhooks/agents/:id: 202 when the message is signed; the answer is posted with a signature of the same secret', async () => {
  await using installation = await open()
  const response = await installation.post(message('How are you?', { conversation: 'door-7' }))
  const accepted = await read(WebhookAccepted, response)
  expect([response.status, accepted]).toEqual([202, { id: expect.stringMatching(/^whd_/), status: 'queued' }])
  const [sent] = await until('the answer', () =>
    installation.receiver.deliveries.length > 0 ? installation.receiver.deliveries : null,
  )
  const { headers, body } = sent ?? { headers: {}, body: '' }
  expect(new Webhook(installation.secret).verify(body, Object.fromEntries(new Headers(headers)))).toMatchObject({
    version: 1,
    type: 'agent.answer',
    data: {
      agentId: installation.agent.id,
      deliveryId: 'msg_1',
      conversation: 'door-7',
      status: 'answered',
      text: 'Fine.',
    },
  })
  expect(installation.double.questions).toMatchObject([{ message: 'How are you?', sessionKey: 'webhook:door-7' }])
  const shown = await until('that it is noted', async () => {
    const channel = await installation.show()
    return channel.lastSentAt ? channel : null
  })
  expect(shown).toMatchObject({
    isOn: true,
    sendsTo: new URL(installation.receiver.url).origin,
    lastError: null,
    deliveries: [{ deliveryId: 'msg_1', status: 'answered', answer: { status: 'sent' } }],
  })
  expect(JSON.stringify(shown)).not.toContain('hidden')
  expect(shown.inbound).toEndWith(`/api/webhooks/agents/${installation.agent.id}`)
})

test('POST /api/webhooks/agents/:id: 200 with the status when a message is repeated, which the agent gets once', async () => {
  await using installation = await open()
  const responses = await Promise.all(Array.from({ length: 10 }, () => installation.post(message())))
  expect(responses.map(({ status }) => status).sort()).toEqual([...Array.from({ length: 9 }, () => 200), 202])
  await until('the answer', () => installation.receiver.deliveries.length > 0)
  const again = await installation.post(message())
  expect([again.status, (await read(WebhookAccepted, again)).status]).toEqual([200, 'answered'])
  expect((await installation.post(message('Another'), { id: 'msg_2' })).status).toBe(202)
  await until('the other answer', () => installation.receiver.deliveries.length === 2)
  expect(installation.double.questions).toHaveLength(2)
})

test('POST /api/webhooks/agents/:id: 401 when the signature is missing, wrong, of another body or over five minutes old, and without the channel', async () => {
  await using installation = await open()
  const minutes = (count: number) => new Date(Date.now() + count * 60_000)
  const right = message()
  const wrong = [
    installation.post(right, { headers: {} }),
    installation.post(right, { secret: `whsec_${Buffer.from('another secret').toString('base64')}` }),
    installation.post(right, { time: minutes(-5.1) }),
    installation.post(right, { time: minutes(5.1) }),
    installation.post(`${right} `, {
      headers: {
        'webhook-id': 'm',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': new Webhook(installation.secret).sign('m', new Date(), right),
      },
    }),
  ]
  for (const response of await Promise.all(wrong)) expect(response.status).toBe(401)
  expect((await installation.asOwner(installation.path, 'DELETE')).status).toBe(200)
  const closed = await installation.post(right)
  expect([closed.status, await closed.json()]).toEqual([401, { error: 'Invalid signature' }])
  expect(installation.double.questions).toEqual([])
})

test('POST /api/webhooks/agents/:id: 400 when the body is invalid, 413 over 64 KB, 429 over 120 a minute', async () => {
  await using installation = await open()
  for (const body of [
    '',
    'null',
    '{}',
    '{"text":" "}',
    message('x', { conversation: 'a b' }),
    message('x'.repeat(20_001)),
  ]) {
    expect((await installation.post(body)).status).toBe(400)
  }
  expect((await installation.post(message('x'.repeat(70_000)))).status).toBe(413)
  expect((await installation.post(message(), { id: 'x'.repeat(201) })).status).toBe(400)
  const statuses = await Promise.all(Array.from({ length: 130 }, async () => (await installation.post('')).status))
  expect(statuses).toContain(429)
  expect(installation.double.questions).toEqual([])
})

test('POST /api/webhooks/agents/:id: 429 while a hundred messages wait for the agent, 202 after its answer', async () => {
  const gate = Promise.withResolvers<string>()
  await using installation = await open(() => gate.promise)
  for (let count = 0; count < 100; count++) {
    expect((await installation.post(message(), { id: `msg_${count}` })).status).toBe(202)
  }
  const refused = await installation.post(message(), { id: 'one_more' })
  expect([refused.status, await refused.json()]).toMatchObject([429, { current: 100, limit: 100 }])
  expect((await installation.post(message(), { id: 'msg_7' })).status).toBe(200)
  gate.resolve('Fine.')
  await until('room for another', async () => (await installation.post(message(), { id: 'one_more' })).status === 202)
})

test('webhook answers: are retried when refused and shown on the page; failures of an agent are posted too', async () => {
  const interrupted = () =>
    Response.json({ error: { message: 'Interrupted', type: 'conflict', code: 'TURN_INTERRUPTED' } }, { status: 409 })
  await using installation = await open(interrupted)
  installation.receiver.failWith(500)
  await installation.post(message())
  const failing = await until('the refusal', async () => (await installation.show()).lastError)
  expect(failing.message).toBe('The address answered 500')
  await until('another attempt', () => {
    installation.clock.advance(1000)
    return installation.receiver.deliveries.length === 2
  })
  const ids = installation.receiver.deliveries.map(({ headers }) => new Headers(headers).get('webhook-id'))
  expect(ids[1]).toBe(ids[0] ?? null)
  const { data } = JSON.parse(installation.receiver.deliveries[1]?.body ?? '')
  expect(data).toMatchObject({ status: 'failed', text: null, error: expect.stringContaining('send the message again') })
}, 300_000)

test('PUT /api/agents/:id/webhook-channel: 200 with the secret once; a new one replaces it; 400 when invalid, 404 for a stranger', async () => {
  await using installation = await open()
  expect(installation.secret).toStartWith('whsec_')
  const url = `${installation.receiver.url}?again`
  expect((await read(ChangedWebhookChannel, installation.put({ url }))).secret).toBeNull()
  expect((await installation.post(message())).status).toBe(202)
  const { secret } = await read(ChangedWebhookChannel, installation.put({ url, newSecret: true }))
  expect((await installation.post(message(), { id: 'msg_2' })).status).toBe(401)
  expect((await installation.post(message(), { id: 'msg_2', secret: secret ?? '' })).status).toBe(202)
  expect((await installation.put({ url: 'ftp://example.com' })).status).toBe(400)
  for (const method of ['GET', 'PUT', 'DELETE'] as const) {
    expect((await installation.asStranger(installation.path, method, { url })).status).toBe(404)
  }
  expect((await installation.asOwner(installation.path, 'DELETE')).status).toBe(200)
  expect(await installation.show()).toMatchObject({ isOn: false, sendsTo: null })
})

test('POST /api/webhooks/agents/:id: 429 after 120 requests from one /64 network for any ids', async () => {
  const { api } = testPlatform()
  const statuses: number[] = []
  for (let index = 0; index <= 120; index++) {
    const address = `2001:db8:1:2::${index.toString(16)}`
    const id = `${index}${'a'.repeat(12_000)}`
    statuses.push((await api('web', { address }).request(`/api/webhooks/agents/${id}`, { method: 'POST' })).status)
  }
  expect(statuses.slice(0, 120)).toEqual(Array(120).fill(401))
  expect(statuses[120]).toBe(429)
})

test('POST /api/webhooks/agents/:id: 429 after 120 signed requests for one id from any address; unsigned ones do not count', async () => {
  await using installation = await open()
  const id = 'msg_1'
  const body = message()
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': new Webhook(installation.secret).sign(id, new Date(), body),
  }
  const post = async (index: number, signed: Record<string, string>) => {
    const api = installation.api('web', { address: `198.51.100.${index}` })
    return (
      await api.request(`/api/webhooks/agents/${installation.agent.id}`, { method: 'POST', body, headers: signed })
    ).status
  }
  for (let index = 1; index <= 130; index++)
    expect(await post(index, { ...headers, 'webhook-signature': 'v1,x' })).toBe(401)
  const statuses: number[] = []
  for (let index = 1; index <= 121; index++) statuses.push(await post(index, headers))
  expect(statuses.slice(0, 120).every((status) => status === 202 || status === 200)).toBe(true)
  expect(statuses[120]).toBe(429)
})
