import { describe, expect, test } from 'bun:test'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { notices } from '../../accounts/notifications/tables.ts'
import { capAlertsJob, sendCapAlerts } from './alerts.ts'
import { Breaker, PauseState } from './schemas.ts'
import { pauses } from './tables.ts'

const OPENAI = '/v1/chat/completions'
/** The provider counts 1000 tokens in and 500 out: $0.00045 at this model's price. */
const HELLO = { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 500 }

/** Ada with an agent and a key, Eve, and an admin. */
async function installation() {
  const test = await aiPlatform({ environment: { ADMIN_EMAILS: 'root@example.com' } })
  test.clock.set(new Date('2100-06-15T12:00:00Z'))
  const ada = await test.join('network')
  const eve = await test.join('network', 'eve@example.com')
  const { cookie } = ada
  const root = await test.signIn('root@example.com')
  const at = `/api/agents/${ada.agentId}`
  const call = (method: 'PUT' | 'POST', path: string, body: unknown, headers = cookie) =>
    test.web.request(path, json(method, body, headers))
  return {
    ...test,
    ada,
    cookie,
    eve,
    root,
    at,
    put: (path: string, body: unknown, headers?: typeof cookie) => call('PUT', path, body, headers),
    post: (path: string, body: unknown = {}, headers?: typeof cookie) => call('POST', path, body, headers),
    get: (path: string, headers = cookie) => test.web.request(path, { headers }),
    agentAsks: (body: object = HELLO) => test.ask(OPENAI, body, bearer(ada.agentToken)),
    actions: () =>
      test.platform.db
        .select({ action: auditLog.action })
        .from(auditLog)
        .all()
        .map(({ action }) => action),
  }
}

describe('PUT /api/agents/:id/breaker', () => {
  test('200 and a cost cap limits this agent from its next call on, until midnight UTC', async () => {
    await using test = await installation()
    expect((await test.agentAsks()).status).toBe(200)
    expect(await read(Breaker, test.put(`${test.at}/breaker`, { costUsdPerDay: 0.01 }))).toEqual({
      agentId: test.ada.agentId,
      caps: { tokensPerDay: null, costUsdPerDay: 0.01 },
      usedToday: { tokens: 1500, costUsd: 0.00045 },
      resetsAt: '2100-06-16T00:00:00.000Z',
      pause: null,
    })
    let answered = 1
    let refused: Response | undefined
    for (let call = 0; call < 40 && !refused; call++) {
      const response = await test.agentAsks()
      if (response.status === 200) answered += 1
      else refused = response
    }
    expect(answered).toBe(22)
    expect(refused?.status).toBe(429)
    expect(await refused?.json()).toMatchObject({
      error: {
        message: 'Daily limit of this agent reached. Used $0.0099 of $0.01. It resets at midnight UTC.',
        code: 'AGENT_CAP_REACHED',
      },
    })
    expect((await test.ask(OPENAI, HELLO, bearer(test.ada.key))).status).toBe(200)
    test.clock.set(new Date('2100-06-16T00:00:00Z'))
    expect((await test.agentAsks()).status).toBe(200)
  })

  test('200 and concurrent calls do not exceed a token cap', async () => {
    await using test = await installation()
    test.provider.answerWith({ usage: { prompt_tokens: 20, completion_tokens: 500 } })
    await test.put(`${test.at}/breaker`, { tokensPerDay: 20_000 })
    const responses = await Promise.all(Array.from({ length: 200 }, () => test.agentAsks()))
    const answered = responses.filter(({ status }) => status === 200).length
    expect(answered).toBeGreaterThan(0)
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(200 - answered)
    const { usedToday } = await read(Breaker, test.get(`${test.at}/breaker`))
    expect(usedToday.tokens).toBeLessThanOrEqual(20_000)
  })

  test('200 and a model without a known price is rejected when a cost cap is set, not when a token cap is', async () => {
    await using test = await installation()
    test.provider.offer(['odd/model'])
    await test.platform.catalogue.refresh(AbortSignal.timeout(60_000))
    const ask = () => test.agentAsks({ ...HELLO, model: 'odd/model' })
    await test.put(`${test.at}/breaker`, { tokensPerDay: 1_000_000 })
    expect((await ask()).status).toBe(200)
    await test.put(`${test.at}/breaker`, { costUsdPerDay: 1 })
    const refused = await ask()
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { code: 'MODEL_RESTRICTED' } })
    await test.put(`${test.at}/breaker`, { costUsdPerDay: null })
    expect((await ask()).status).toBe(200)
  })

  test('400 when the cap is invalid or nothing changes', async () => {
    await using test = await installation()
    const error = async (body: unknown) => {
      const response = await test.put(`${test.at}/breaker`, body)
      return { status: response.status, ...Object(await response.json()) }
    }
    expect(await error({ costUsdPerDay: 0 })).toMatchObject({ status: 400, error: expect.stringContaining('costUsd') })
    expect(await error({ tokensPerDay: 1.5 })).toMatchObject({ status: 400, error: expect.stringContaining('tokens') })
    expect(await error({ tokens: 5 })).toMatchObject({ status: 400, error: 'Nothing to change' })
    expect(await error({})).toMatchObject({ status: 400, error: 'Nothing to change' })
  })
})

describe('POST /api/agents/:id/pause', () => {
  test('200 and no model answers until POST /api/agents/:id/resume; the owner’s keys continue', async () => {
    await using test = await installation()
    const { pause } = await read(Breaker, test.post(`${test.at}/pause`, { reason: 'It talks too much' }))
    expect(pause).toEqual({ scope: 'agent', reason: 'It talks too much', since: '2100-06-15T12:00:00.000Z' })
    const refused = await test.agentAsks()
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({
      error: { message: 'This agent is paused: It talks too much', code: 'AGENT_PAUSED' },
    })
    expect(test.provider.chats).toEqual([])
    expect((await test.ask(OPENAI, HELLO, bearer(test.ada.key))).status).toBe(200)
    expect(await read(Breaker, test.post(`${test.at}/resume`))).toMatchObject({ pause: null })
    expect((await test.agentAsks()).status).toBe(200)
    expect(test.actions()).toEqual(['agents.pause', 'agents.resume'])
  })

  test('200 and the pause is deleted with the agent', async () => {
    await using test = await installation()
    await test.post(`${test.at}/pause`)
    expect((await test.web.request(test.at, { method: 'DELETE', headers: test.cookie })).status).toBe(200)
    expect(test.platform.db.select().from(pauses).all()).toEqual([])
  })
})

test('PUT /api/pause: 200 pauses all agents of the caller and no others', async () => {
  await using test = await installation()
  const { pause } = await read(PauseState, test.put('/api/pause', { paused: true }))
  expect(pause).toMatchObject({ scope: 'owner', reason: '' })
  expect(await read(PauseState, test.get('/api/pause'))).toEqual({ pause })
  expect((await test.agentAsks()).status).toBe(429)
  expect((await test.ask(OPENAI, HELLO, bearer(test.eve.agentToken))).status).toBe(200)
  expect(await read(PauseState, test.put('/api/pause', { paused: false }))).toEqual({ pause: null })
  expect((await test.agentAsks()).status).toBe(200)
  expect((await test.put('/api/pause', {})).status).toBe(400)
})

test('PUT /api/admin/pause: 200 pauses all agents and reports the widest pause, 403 for other users', async () => {
  await using test = await installation()
  const { cookie } = test.root
  expect((await test.put('/api/admin/pause', { paused: true })).status).toBe(403)
  expect((await test.get('/api/admin/pause')).status).toBe(403)
  await test.post(`${test.at}/pause`)
  const { pause } = await read(PauseState, test.put('/api/admin/pause', { paused: true, reason: 'A leak' }, cookie))
  expect(await read(PauseState, test.get('/api/admin/pause', cookie))).toEqual({ pause })
  expect(await (await test.agentAsks()).json()).toMatchObject({
    error: { message: 'All agents are paused by the operator: A leak', code: 'AGENT_PAUSED' },
  })
  await test.put('/api/admin/pause', { paused: false }, cookie)
  expect(await (await test.agentAsks()).json()).toMatchObject({ error: { message: 'This agent is paused' } })
})

test('PUT pause: 404 for another user’s agent, 401 without credentials, 403 with a read-only key', async () => {
  await using test = await installation()
  const calls = [
    () => test.get(`${test.at}/breaker`, test.eve.cookie),
    () => test.put(`${test.at}/breaker`, { tokensPerDay: 1 }, test.eve.cookie),
    () => test.post(`${test.at}/pause`, {}, test.eve.cookie),
    () => test.post(`${test.at}/resume`, {}, test.eve.cookie),
  ]
  for (const call of calls) expect((await call()).status).toBe(404)
  for (const path of [`${test.at}/breaker`, '/api/pause', '/api/admin/pause']) {
    expect((await test.web.request(path)).status).toBe(401)
  }
  const made = await test.post('/api/keys', { name: 'reader', scopes: ['read'] })
  const headers = bearer(String(Object(await made.json()).key))
  expect((await test.web.request(`${test.at}/breaker`, { headers })).status).toBe(200)
  expect((await test.web.request(`${test.at}/pause`, json('POST', {}, headers))).status).toBe(403)
})

test('sendCapAlerts sends cap_near at 80 % and cap_reached at 100 %, each once a day', async () => {
  await using test = await installation()
  await test.agentAsks()
  for (const tokensPerDay of [10_000, 1800, 1500]) {
    await test.put(`${test.at}/breaker`, { tokensPerDay })
    await sendCapAlerts(test.platform)
    await sendCapAlerts(test.platform)
  }
  const reported = test.platform.db.select().from(notices).all()
  expect(reported.map(({ kind, text }) => [kind, text.slice(0, 22)])).toEqual([
    ['cap_near', 'The agent has used 80%'],
    ['cap_reached', 'The agent has reached '],
  ])
})

test('sendCapAlerts sends cap_reached when the limit refuses a call before it is used up', async () => {
  await using test = await installation()
  await test.put(`${test.at}/breaker`, { tokensPerDay: 1 })
  expect((await test.agentAsks()).status).toBe(429)
  await sendCapAlerts(test.platform)
  const sent = test.platform.db.select().from(notices).all()
  expect(sent.map(({ kind }) => kind)).toEqual(['cap_reached'])
})

test('capAlertsJob checks the limits every few seconds', async () => {
  await using test = await installation()
  expect(capAlertsJob(test.platform).everyMs).toBeLessThanOrEqual(5000)
})
