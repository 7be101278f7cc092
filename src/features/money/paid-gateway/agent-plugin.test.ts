import { expect, test } from 'bun:test'
import { z } from 'zod'
import { createAgent, signUp } from '../../../../tests/harness/client.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { startServer } from '../../../../tests/harness/server.ts'
import { Credits } from '../ledger/schemas.ts'

const Session = z.object({ user: z.object({ id: z.string() }) })

test('POST /api/v1/gateway agent: 200 with the reply of an own agent for five credits; 404 for a stranger’s before anything is paid', async () => {
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
