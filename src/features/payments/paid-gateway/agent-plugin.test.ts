import { expect, test } from 'bun:test'
import { z } from 'zod'
import { createAgent, signUp } from '../../../../tests/harness/client.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { startServer } from '../../../../tests/harness/server.ts'
import { until } from '../../../../tests/harness/until.ts'
import { Credits } from '../ledger/schemas.ts'

const Session = z.object({ user: z.object({ id: z.string() }) })
const Turns = z.object({ turns: z.array(z.object({ id: z.string() })) })

test('POST /api/v1/gateway agent: 200 with the reply of an own agent for five credits; 404 before payment for a stranger’s', async () => {
  await using provider = await startProvider({ text: ['Good morning.'] })
  await using server = await startServer({
    OPENROUTER_API_KEY: 'k',
    OPENROUTER_BASE_URL: provider.baseUrl,
    ADMIN_EMAILS: 'ada@example.com',
  })
  const ada = await signUp(server.urls.web)
  const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
  const eve = await signUp(server.urls.web, 'eve@example.com')
  for (const person of [ada, eve]) {
    const { user } = await read(Session, person.get('/api/auth/session'))
    const patch = json('PATCH', { credits: 8 }, ada.cookie)
    expect((await fetch(`${server.urls.web}/api/admin/users/${user.id}`, patch)).status).toBe(200)
  }
  const credits = async (person: typeof ada) => (await read(Credits, person.get('/api/credits'))).credits
  const order = { plugin: 'agent', message: 'Hello', agentId }
  const response = await ada.post('/api/v1/gateway', order)
  expect([response.status, await response.json()]).toMatchObject([
    200,
    { plugin: 'agent', result: { agentId, reply: 'Good morning.' }, payment: { method: 'stripe' } },
  ])
  expect(await credits(ada)).toBe(3)
  const foreign = await eve.post('/api/v1/gateway', order)
  expect([foreign.status, await foreign.json()]).toMatchObject([404, { error: 'Agent not found' }])
  expect(await credits(eve)).toBe(8)
  expect((await ada.post('/api/v1/gateway', order)).status).toBe(402)
})

test('POST /api/v1/gateway agent: 200 and charged when its user stops the reply', async () => {
  const release = Promise.withResolvers<void>()
  await using provider = await startProvider({
    text: ['Good ', 'morning.'],
    beforeEvent: (index) => (index > 1 ? release.promise : Promise.resolve()),
  })
  await using server = await startServer({
    OPENROUTER_API_KEY: 'k',
    OPENROUTER_BASE_URL: provider.baseUrl,
    ADMIN_EMAILS: 'ada@example.com',
  })
  const ada = await signUp(server.urls.web)
  const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
  const { user } = await read(Session, ada.get('/api/auth/session'))
  const patch = json('PATCH', { credits: 8 }, ada.cookie)
  expect((await fetch(`${server.urls.web}/api/admin/users/${user.id}`, patch)).status).toBe(200)
  const order = ada.post('/api/v1/gateway', { plugin: 'agent', message: 'Hello', agentId })
  const turnId = await until('the turn to run', async () => {
    const { turns } = await read(Turns, ada.get('/api/chat/turns'))
    return provider.chats.length > 0 && turns[0]?.id
  })
  expect((await ada.post(`/api/chat/turns/${turnId}/stop`, {})).status).toBe(200)
  release.resolve()
  const response = await order
  expect([response.status, await response.json()]).toMatchObject([200, { plugin: 'agent', result: { agentId } }])
  expect((await read(Credits, ada.get('/api/credits'))).credits).toBe(3)
})
