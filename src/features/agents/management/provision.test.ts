import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows, dumpTables } from '../../../../tests/harness/rows/dump.ts'
import { ConfigResponse, ProvisionResponse } from '../registry/schemas.ts'
import { agents } from '../registry/tables.ts'

function openTest(environment: Record<string, string> = {}) {
  const test = testPlatform({ environment })
  const jobs = startJobs(test.platform)
  return {
    ...test,
    provision: async (body: object, headers: Record<string, string>) => {
      const response = await test.web.request('/api/agents/provision', json('POST', { name: 'Ada', ...body }, headers))
      const { agent } = await read(ProvisionResponse, response)
      return test.platform.db.select().from(agents).where(eq(agents.id, agent.id)).get()
    },
    [Symbol.asyncDispose]: () => jobs[Symbol.asyncDispose](),
  }
}

test.each([
  ['openrouter', { model: 'claude-opus-4-6' }, 'anthropic'],
  ['openrouter', { model: 'anthropic/claude-opus-4.6', config: { aiProvider: 'groq' } }, 'anthropic'],
  ['openrouter', { model: 'gpt-4' }, 'openrouter'],
  ['openrouter', { model: 'custom' }, 'openrouter'],
  ['groq', { model: 'custom' }, 'groq'],
  ['openrouter', { model: 'custom', config: { aiProvider: 'gemini' } }, 'gemini'],
])(
  'POST /api/agents/provision: with AI_PROVIDER=%s and %j, 201 with provider %s',
  async (AI_PROVIDER, body, aiProvider) => {
    await using test = openTest({ AI_PROVIDER })
    const { cookie } = await test.signIn('ada@example.com', 'network')
    expect(await test.provision(body, cookie)).toMatchObject({ aiProvider, model: body.model })
  },
)

test.each([
  [{}, 'label'],
  [{ tier: 'pro' }, 'pro'],
  [{ config: { plan: 'network' } }, 'label'],
])('POST /api/agents/provision: when the body is %j, 201 with plan %s', async (body, plan) => {
  await using test = openTest()
  const { cookie } = await test.signIn('ada@example.com', 'network')
  expect(await test.provision(body, cookie)).toMatchObject({ plan })
})

test('POST /api/agents/provision: 402 when the tier exceeds the plan; the default tier is within it', async () => {
  await using test = openTest()
  const { cookie } = await test.signIn('ada@example.com', 'solo')
  const order = json('POST', { name: 'Ada', tier: 'enterprise' }, cookie)
  const refused = await test.web.request('/api/agents/provision', order)
  expect(refused.status).toBe(402)
  expect(await refused.json()).toMatchObject({ code: 'PLAN_REQUIRED' })
  expect(await test.provision({}, cookie)).toMatchObject({ plan: 'solo' })
})

test('POST /api/agents/provision: 400 with similar names when the model is unknown, and no agent is created', async () => {
  await using test = await aiPlatform()
  await test.platform.catalogue.refresh(AbortSignal.timeout(5000))
  const { cookie } = await test.join('network')
  const before = countRows(test.platform.db)
  const refused = await test.web.request('/api/agents/provision', json('POST', { name: 'Bo', model: 'gpt4o' }, cookie))
  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({ code: 'UNKNOWN_MODEL', near: ['openai/gpt-4o'] })
  expect(countRows(test.platform.db)).toEqual(before)
})

test('POST /api/agents/provision: 201 with settings, whose secrets are encrypted', async () => {
  await using test = openTest()
  const { cookie } = await test.signIn('ada@example.com', 'network')
  const config = { telegramToken: '1:canary', skills: ['weather'] }
  const agent = await test.provision({ config }, cookie)
  const shown = test.web.request(`/api/agents/${agent?.id}/config`, { headers: cookie })
  expect((await read(ConfigResponse, shown)).config).toMatchObject({
    skills: ['weather'],
    secrets: { telegramToken: true, discordBotToken: false },
  })
  expect(dumpTables(test.platform.db)).not.toContain('canary')
})
