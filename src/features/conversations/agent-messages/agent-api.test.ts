import { afterAll, beforeAll, expect, test } from 'bun:test'
import { z } from 'zod'
import { type Person, signUp } from '../../../../tests/harness/client.ts'
import type { ProviderDouble } from '../../../../tests/harness/doubles/provider.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { openTalkingService, type TalkingService } from '../../../../tests/harness/services/talking-service.ts'
import { VERSION } from '../../../core/version.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'

const Sessions = z.object({
  sessions: z.array(
    z.object({
      id: z.string(),
      status: z.enum(['active', 'idle', 'completed']),
      messageCount: z.number(),
      createdAt: z.number(),
      lastActivity: z.number(),
    }),
  ),
})
const Started = z.object({ sessionId: z.string(), status: z.literal('active') })
const Reply = z.object({ sessionId: z.string(), reply: z.string(), timestamp: z.number() })
const Skills = z.object({
  skills: z.array(z.object({ id: z.string(), name: z.string(), description: z.string(), enabled: z.boolean() })),
})

let service: TalkingService
let provider: ProviderDouble
let ada: Person
let eve: Person
let agentId: string
beforeAll(async () => {
  service = await openTalkingService({ text: 'Good morning.' })
  provider = service.provider
  ada = service.person
  agentId = service.agentId
  eve = await signUp(service.server.urls.web, 'eve@example.com')
}, 300_000)
afterAll(() => service?.[Symbol.asyncDispose]())

const say = (message: string, more: object = {}) => ada.post('/api/agent', { action: 'chat', message, ...more })

/** Returns the model's last messages without the system prompt. */
function lastPrompt(): unknown[] {
  return (provider.chats.at(-1)?.body.messages ?? [])
    .filter(({ role }) => role !== 'system')
    .map((line) => line.content)
}

test('POST /api/agent chat: 200 with the real agent’s reply, in the current session', async () => {
  const first = await ada.post('/api/agent', { message: '  Hello  ' })
  expect(first.status).toBe(200)
  const reply = await read(Reply, first)
  expect(reply).toEqual({
    sessionId: expect.stringMatching(/^sess_[0-9a-f]{16}$/),
    reply: 'Good morning.',
    timestamp: expect.any(Number),
  })
  const second = await read(Reply, say('And now?'))
  expect(second.sessionId).toBe(reply.sessionId)
  expect(JSON.stringify(lastPrompt())).toContain('Hello')

  const shown = await ada.get(`/api/agent?action=session&sessionId=${reply.sessionId}`)
  expect(shown.status).toBe(200)
  expect(await shown.json()).toMatchObject({
    session: {
      id: reply.sessionId,
      userId: expect.any(String),
      status: 'active',
      messages: [
        { role: 'user', content: 'Hello', timestamp: expect.any(Number) },
        { role: 'assistant', content: 'Good morning.', timestamp: expect.any(Number) },
        { role: 'user', content: 'And now?' },
        { role: 'assistant', content: 'Good morning.' },
      ],
      createdAt: expect.any(Number),
      lastActivity: expect.any(Number),
    },
  })
})

test('POST /api/agent create-session: 200 and the agent starts a new one; an earlier one continues by its id', async () => {
  const before = await read(Reply, say('My name is Ada'))
  const started = await read(Started, ada.post('/api/agent', { action: 'create-session' }))
  expect(started.sessionId).not.toBe(before.sessionId)
  const listed = (await read(Sessions, ada.get('/api/agent?action=sessions'))).sessions
  expect(listed[0]).toMatchObject({ id: started.sessionId, status: 'active', messageCount: 0 })
  expect(listed.find(({ id }) => id === before.sessionId)?.status).toBe('completed')

  expect((await read(Reply, say('Who am I?'))).sessionId).toBe(started.sessionId)
  expect(JSON.stringify(lastPrompt())).not.toContain('My name is Ada')
  expect((await read(Reply, say('Who am I?', { sessionId: before.sessionId }))).sessionId).toBe(before.sessionId)
  expect(JSON.stringify(lastPrompt())).toContain('My name is Ada')
  const again = (await read(Sessions, ada.get(`/api/agent?action=sessions&agentId=${agentId}`))).sessions
  expect(again[0]).toMatchObject({ id: before.sessionId, status: 'active' })
})

test('GET /api/agent memory: 200 with the last ten messages of the current session, truncated to 100 characters', async () => {
  await ada.post('/api/agent', { action: 'create-session' })
  expect(await (await ada.get('/api/agent?action=memory')).json()).toEqual({ memory: [] })
  for (let index = 0; index < 6; index++) await say(`${index}${'ß'.repeat(200)}`)
  const { memory } = await read(
    z.object({ memory: z.array(z.object({ role: z.string(), content: z.string() })) }),
    ada.get('/api/agent?action=memory'),
  )
  expect(memory).toHaveLength(10)
  expect(memory[0]).toEqual({ role: 'user', content: `1${'ß'.repeat(99)}` })
  expect(memory[9]).toEqual({ role: 'assistant', content: 'Good morning.' })
})

test('GET /api/agent health: 200 with the agent’s own report', async () => {
  await ada.post('/api/agent', { action: 'update-skill', skillId: 'tour-planner', enabled: true })
  const response = await ada.get(`/api/agent?action=health&agentId=${agentId}`)
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    agentId,
    status: 'running',
    version: VERSION,
    apiVersion: '1.0.0',
    uptime: expect.any(Number),
    model: 'openai/gpt-4o-mini',
    channels: ['web'],
    skills: ['tour-planner'],
    lastSeen: expect.any(Number),
  })
})

test('POST /api/agent chat: 502 when the agent’s provider fails, and the message is stored as failed', async () => {
  provider.answerWith({ fault: { status: 500 } })
  const response = await say('Hello?')
  provider.answerWith({ text: 'Good morning.' })
  expect(response.status).toBe(502)
  const { messages } = await read(
    z.object({ messages: z.array(z.object({ content: z.string(), status: z.string() })) }),
    ada.get('/api/chat'),
  )
  expect(messages.at(-1)).toEqual({ content: 'Hello?', status: 'failed' })
})

test('/api/agent: 404 for another user’s session and agent, and the agent gets no request', async () => {
  const { sessionId } = await read(Reply, say('Secret'))
  const asked = provider.chats.length
  const answers: [Promise<Response>, string][] = [
    [eve.get(`/api/agent?action=session&sessionId=${sessionId}`), 'Session not found'],
    [eve.get('/api/agent?action=session&sessionId=sess_0123456789abcdef'), 'Session not found'],
    [eve.get('/api/agent?action=session'), 'Session not found'],
    [eve.post('/api/agent', { message: 'Hi', sessionId }), 'Session not found'],
    [eve.post('/api/agent', { message: 'Hi', agentId }), 'Agent not found'],
    [eve.post('/api/agent', { action: 'create-session', agentId }), 'Agent not found'],
    [eve.get(`/api/agent?action=sessions&agentId=${agentId}`), 'Agent not found'],
    [eve.get(`/api/agent?action=memory&agentId=${agentId}`), 'Agent not found'],
    [eve.get(`/api/agent?action=health&agentId=${agentId}`), 'Agent not found'],
    [eve.get('/api/agent?action=health'), 'No agent deployed'],
    [eve.get('/api/agent?action=sessions'), 'No agent deployed'],
    [eve.post('/api/agent', { message: 'Hi' }), 'No agent deployed'],
  ]
  for (const [answer, error] of answers) {
    const response = await answer
    expect([response.status, await response.json()]).toEqual([404, { error }])
  }
  expect(provider.chats).toHaveLength(asked)
})

test('POST /api/agent chat: 404 when the session is of another agent', async () => {
  const { sessionId } = await read(Reply, say('Hello'))
  const response = await say('Hello', { sessionId, agentId: 'agent-missing' })
  expect(response.status).toBe(404)
})

test('GET /api/agent: 200 with the list of actions', async () => {
  const response = await ada.get('/api/agent')
  expect(await response.json()).toMatchObject({
    apiVersion: '1.0.0',
    agentbotVersion: VERSION,
    endpoints: { 'GET /api/agent': expect.any(String) },
  })
})

test('POST /api/agent skills: 200 with available skills and which are enabled; update-skill installs and disables, 404 for others', async () => {
  const test = await atRest()
  const { agentId } = test
  await write(test.platform.db, (tx) =>
    tx.update(users).set({ plan: 'label', subscriptionStatus: 'active', subscriptionId: 'sub_1' }).run(),
  )
  const offered = await read(
    z.object({ skills: z.array(z.object({ id: z.string() })) }),
    test.web.request('/api/skills'),
  )
  const list = async (query = '') => (await read(Skills, test.get(`action=skills${query}`))).skills
  expect((await list()).map(({ id }) => id)).toEqual(offered.skills.map(({ id }) => id))
  const on = async (query = '') => (await list(query)).flatMap(({ id, enabled }) => (enabled ? [id] : []))
  expect(await on()).toEqual([])
  const choose = (skillId: string, enabled?: boolean) =>
    test.post({ action: 'update-skill', skillId, enabled, agentId })
  const chosen = await choose('venue-finder', true)
  expect([chosen.status, await chosen.json()]).toEqual([200, { success: true, skillId: 'venue-finder', enabled: true }])
  expect([await on(), await on(`&agentId=${agentId}`)]).toEqual([['venue-finder'], ['venue-finder']])
  expect(await (await test.get(`action=health&agentId=${agentId}`)).json()).toMatchObject({ skills: ['venue-finder'] })
  const off = await choose('venue-finder')
  expect([off.status, await off.json()]).toEqual([200, { success: true, skillId: 'venue-finder', enabled: false }])
  expect(await on()).toEqual([])
  const unknown = await choose('flying', true)
  expect([unknown.status, await unknown.json()]).toEqual([404, { error: 'Skill not found' }])
  const stranger = (await test.signIn('eve@example.com', 'label')).cookie
  const foreign = await test.post({ action: 'update-skill', skillId: 'venue-finder', enabled: true, agentId }, stranger)
  expect([foreign.status, await foreign.json()]).toEqual([404, { error: 'Agent not found' }])
  expect((await test.get(`action=skills&agentId=${agentId}`, stranger)).status).toBe(404)
})

test.each([
  [{ action: 'dance' }, 'Invalid action'],
  [{ action: 7 }, 'Invalid action'],
  [[], 'Invalid action'],
  ['chat', 'Invalid action'],
  [{}, 'userId and message required'],
  [{ message: ' ' }, 'userId and message required'],
  [{ action: 'chat', message: 7 }, 'userId and message required'],
  [{ action: 'update-skill' }, 'userId and skillId required'],
  [{ action: 'set-credential' }, 'userId and key required'],
  [
    { action: 'set-credential', key: 'myspace' },
    'key must be one of anthropic, openai, openrouter, google, telegram, discord, whatsapp',
  ],
  [{ action: 'set-credential', key: 'openai', value: 7 }, 'value must be text'],
])('POST /api/agent: 400 when the body is %j', async (body, error) => {
  const response = await ada.post('/api/agent', body)
  expect([response.status, await response.json()]).toEqual([400, { error }])
})

test('GET /api/agent: 400 when the action is unknown', async () => {
  const response = await ada.get('/api/agent?action=dance')
  expect([response.status, await response.json()]).toEqual([400, { error: 'Invalid action' }])
})

/** Starts a platform whose agents do not run. */
async function atRest(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment })
  const { cookie, user } = await test.signIn()
  const kind = { name: 'Ada', model: 'm', plan: 'label', aiProvider: 'openrouter', status: 'stopped' } as const
  const { platform, clock } = test
  const stopped = await write(platform.db, (tx) =>
    insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: user.id }),
  )
  return {
    ...test,
    cookie,
    agentId: stopped.id,
    get: (query: string, headers: Record<string, string> = cookie) =>
      test.web.request(`/api/agent?${query}`, { headers }),
    post: (body: object, headers: Record<string, string> = cookie) =>
      test.web.request('/api/agent', json('POST', body, headers)),
  }
}

test('POST /api/agent credentials: 200 stores encrypted values, never returns them, and deletes one without a value', async () => {
  const test = await atRest()
  const none = { anthropic: false, openai: false, openrouter: false, google: false }
  const noCredentials = { ...none, telegram: false, discord: false, whatsapp: false }
  expect(await (await test.get('action=credentials')).json()).toEqual({ credentials: noCredentials })
  const value = 'sk-canary-credential'
  const set = await test.post({ action: 'set-credential', key: 'openai', value })
  expect(await set.json()).toEqual({ success: true, key: 'openai', configured: true })
  const shown = await (await test.get('action=credentials')).text()
  expect(JSON.parse(shown)).toEqual({ credentials: { ...noCredentials, openai: true } })
  const eve = (await test.signIn('eve@example.com')).cookie
  expect(await (await test.get('action=credentials', eve)).json()).toEqual({ credentials: noCredentials })
  expect(dumpTables(test.platform.db) + shown + test.logLines.join('\n')).not.toContain(value)
  const gone = await test.post({ action: 'set-credential', key: 'openai' })
  expect(await gone.json()).toEqual({ success: true, key: 'openai', configured: false })
  expect(await (await test.get('action=credentials')).json()).toEqual({ credentials: noCredentials })
})

test('/api/agent: when the agent is stopped, health reports it, and chat returns 409 without a session', async () => {
  const test = await atRest()
  const { agentId } = test
  expect(await (await test.get(`action=health&agentId=${agentId}`)).json()).toMatchObject({
    status: 'stopped',
    version: null,
    uptime: 0,
    lastSeen: null,
  })
  const response = await test.post({ message: 'Hi', agentId })
  expect(response.status).toBe(409)
  expect(await (await test.get(`action=sessions&agentId=${agentId}`)).json()).toEqual({ sessions: [] })
})

test('/api/agent: 503 for health and chat when the agent does not respond', async () => {
  const test = await atRest()
  await write(test.platform.db, (tx) => tx.update(agents).set({ status: 'running', port: 1 }).run())
  for (const response of [await test.get('action=health'), await test.post({ message: 'Hi' })]) {
    expect([response.status, await response.json()]).toEqual([503, { error: 'The agent is not reachable' }])
  }
})

test('GET /api/agent health: 200 with the channel email when its webhook is configured', async () => {
  const test = await atRest({ WEBHOOK_EMAIL_SECRET: 'whsec_c2VjcmV0IG9mIHRoZSB0ZXN0' })
  const response = await test.get(`action=health&agentId=${test.agentId}`)
  expect(await response.json()).toMatchObject({ channels: ['web', 'email'] })
})

test('GET /api/agent sessions: 200 with idle when a session had no messages for half an hour', async () => {
  const test = await atRest()
  const { agentId } = test
  await test.post({ action: 'create-session', agentId })
  const statuses = async () =>
    (await read(Sessions, test.get(`action=sessions&agentId=${agentId}`))).sessions.map(({ status }) => status)
  expect(await statuses()).toEqual(['active'])
  test.clock.advance(31 * 60_000)
  expect(await statuses()).toEqual(['idle'])
})

test('/api/agent: 401 without a session', async () => {
  const test = await atRest()
  expect((await test.get('', {})).status).toBe(401)
  expect((await test.post({ message: 'Hi' }, {})).status).toBe(401)
})
