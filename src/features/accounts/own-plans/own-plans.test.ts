import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { aiPlatform } from '../../../../tests/harness/ai-platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { Marketplace } from '../../payments/skills/schemas.ts'
import { installedSkills } from '../../payments/skills/tables.ts'
import { auditLog } from '../audit/tables.ts'
import { CreatedInvite } from '../invites/schemas.ts'
import { users } from '../users/tables.ts'
import { takePlansOfFile } from './own-plans.ts'
import { AdminPlanList, OnePlan } from './schemas.ts'

const MINI = 'openai/gpt-4o-mini'
/** The provider counts 1000 tokens in and 500 out: $0.00045 at this model's price. */
const HELLO = { model: MINI, messages: [{ role: 'user', content: 'Hi' }], max_tokens: 500 }
const FAMILY = { name: 'family', models: [MINI], agents: 2, tokensPerMonth: 9000, usdPerMonth: 5, storageGb: 0.5 }

/** A platform with an administrator, who defines `plan` for Ada. */
async function withPlan(plan: Record<string, unknown> = FAMILY) {
  const test = await aiPlatform({ environment: { ADMIN_EMAILS: 'root@example.com' } })
  const admin = await test.signIn('root@example.com')
  const ask = (method: 'POST' | 'PUT' | 'DELETE', path: string, body: unknown = {}, headers = admin.cookie) =>
    test.web.request(`/api/admin/plans${path}`, json(method, body, headers))
  const list = () => read(AdminPlanList, test.web.request('/api/admin/plans', { headers: admin.cookie }))
  expect((await ask('POST', '', plan)).status).toBe(201)
  const person = await test.join(String(plan.name))
  return {
    ...test,
    ...person,
    admin,
    call: ask,
    list,
    say: (body: object = HELLO) => test.ask('/v1/chat/completions', body, bearer(person.key)),
  }
}

test('GET /api/admin/plans: 200 with an own plan and the four built-in ones; POST, PUT and DELETE change it', async () => {
  await using test = await withPlan()
  const { plans, defaultPlan } = await test.list()
  expect(defaultPlan).toBeNull()
  expect(plans.map(({ name, source, accounts }) => [name, source, accounts])).toEqual([
    ['solo', 'interface', 0],
    ['collective', 'interface', 0],
    ['label', 'interface', 0],
    ['network', 'interface', 0],
    ['family', 'dashboard', 1],
  ])
  expect(plans[4]).toMatchObject({ ...FAMILY, skills: null, messagesPerDay: null })
  const { plan } = await read(OnePlan, test.call('PUT', '/family', { agents: 3 }))
  expect(plan).toMatchObject({ agents: 3, models: null, usdPerMonth: null, storageGb: 100, accounts: 1 })
  const refused = await test.call('DELETE', '/family')
  expect([refused.status, await refused.json()]).toEqual([
    409,
    { error: '1 account has the plan family: give them another one first', accounts: 1 },
  ])
  const change = json('PATCH', { plan: 'solo' }, test.admin.cookie)
  expect((await test.web.request(`/api/admin/users/${test.user.id}`, change)).status).toBe(200)
  expect((await test.call('DELETE', '/family')).status).toBe(200)
  expect((await test.list()).plans).toHaveLength(4)
  const actions = test.platform.db
    .select()
    .from(auditLog)
    .all()
    .map(({ action }) => action)
  expect(actions).toEqual(expect.arrayContaining(['plan.create', 'plan.change', 'plan.delete']))
})

test('DELETE /api/admin/plans/:name: 409 when an open invitation gives the plan', async () => {
  await using test = await withPlan()
  const invite = json('POST', { plan: 'family' }, test.admin.cookie)
  await read(CreatedInvite, test.web.request('/api/admin/invites', invite))
  await write(test.platform.db, (tx) => tx.update(users).set({ plan: 'free' }).run())
  const refused = await test.call('DELETE', '/family')
  expect([refused.status, await refused.json()]).toEqual([
    409,
    { error: 'An open invitation gives the plan family: take it back first' },
  ])
})

test.each<[string, Record<string, unknown>, string]>([
  ['no name', { agents: 1 }, 'name must be text'],
  ['a name with a space', { ...FAMILY, name: 'my plan' }, 'name must be 1 to 40 lower-case letters, digits and dashes'],
  ['a plan of the interface', { ...FAMILY, name: 'solo' }, 'name is reserved: choose another one'],
  [
    'a negative limit',
    { ...FAMILY, name: 'x', agents: -1 },
    'agents must be a whole number from 0 to 100000, or null for no limit',
  ],
  [
    'no model at all',
    { ...FAMILY, name: 'x', models: [] },
    'models must be a list of 1 to 1000 model ids, or null for every model',
  ],
])('POST /api/admin/plans: 400 when the body has %s', async (_what, body, error) => {
  await using test = await withPlan()
  const response = await test.call('POST', '', body)
  expect([response.status, await response.json()]).toMatchObject([400, { error }])
  expect((await test.list()).plans).toHaveLength(5)
})

test('/api/admin/plans: 409 when the name is taken, 404 when the plan is missing, 401 and 403 for everyone else', async () => {
  await using test = await withPlan()
  expect((await test.call('POST', '', FAMILY)).status).toBe(409)
  expect((await test.call('PUT', '/gold', {})).status).toBe(404)
  expect((await test.call('DELETE', '/gold')).status).toBe(404)
  expect((await test.call('PUT', '/solo', {})).status).toBe(404)
  for (const [method, path] of [
    ['POST', ''],
    ['PUT', '/family'],
    ['DELETE', '/family'],
  ] as const) {
    expect((await test.call(method, path, FAMILY, { cookie: '' })).status).toBe(401)
    expect((await test.call(method, path, FAMILY, test.cookie)).status).toBe(403)
  }
})

test('POST /v1/chat/completions: 403 when an own plan lacks the model', async () => {
  await using test = await withPlan()
  expect((await test.say()).status).toBe(200)
  const response = await test.say({ ...HELLO, model: 'openai/gpt-4o' })
  expect(response.status).toBe(403)
  expect(await response.json()).toMatchObject({ error: { code: 'MODEL_RESTRICTED' } })
})

test('POST /v1/chat/completions: 429 at the tokens of an own plan, and 200 when they are raised', async () => {
  await using test = await withPlan({ ...FAMILY, tokensPerMonth: 1800 })
  expect((await test.say()).status).toBe(200)
  const refused = await test.say()
  expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: 'QUOTA_EXCEEDED' } }])
  await test.call('PUT', '/family', { tokensPerMonth: 9000 })
  expect((await test.say()).status).toBe(200)
})

test('POST /v1/chat/completions: 429 at the USD of an own plan, also after a restart, until the month ends', async () => {
  const plan = { name: 'family', usdPerMonth: 0.001 }
  await using test = await withPlan(plan)
  test.clock.set(new Date('2100-03-31T23:59:00Z'))
  expect((await test.say()).status).toBe(200)
  await test.platform.usage.settle()
  const { tokens, costMicroUsd } = test.platform.userSums.used(test.user.id)
  expect([tokens, costMicroUsd]).toEqual([1500, 450])
  expect((await test.say()).status).toBe(200)
  const refused = await test.say()
  expect(refused.status).toBe(429)
  expect(await refused.json()).toMatchObject({
    error: {
      code: 'QUOTA_EXCEEDED',
      message:
        'Monthly quota exceeded for plan "family". Used $0.0009 of $0.001. Quota resets at the start of next month.',
    },
  })
  test.clock.advance(60_000)
  expect((await test.say()).status).toBe(200)
})

test('POST /v1/chat/completions: 403 for a model without a known price when the plan limits USD', async () => {
  const unknown = { ...HELLO, model: 'unknown/nobody-knows-its-price' }
  await using limited = await withPlan({ name: 'family', usdPerMonth: 5 })
  await limited.platform.catalogue.refresh(new AbortController().signal)
  expect((await limited.say(unknown)).status).toBe(403)
  await using free = await withPlan({ name: 'family' })
  await free.platform.catalogue.refresh(new AbortController().signal)
  expect((await free.say(unknown)).status).toBe(200)
})

test('POST /api/agents: 429 at the agents of an own plan', async () => {
  await using test = await withPlan()
  const create = () => test.web.request('/api/agents', json('POST', { name: 'Bo' }, test.cookie))
  expect((await create()).status).toBe(201)
  const refused = await create()
  expect([refused.status, await refused.json()]).toMatchObject([429, { current: 2, limit: 2 }])
})

test('GET /api/billing: 200 with name, limits and storage of an own plan', async () => {
  await using test = await withPlan()
  const response = await test.web.request('/api/billing', { headers: test.cookie })
  expect(await response.json()).toMatchObject({
    currentPlan: 'family',
    plans: { family: { name: 'Family', price: 0, agents: 2 } },
    storage: { limit: 512 * 1024 * 1024 },
    usage: { monthlyTokens: 9000 },
  })
})

test('POST /api/skills: 429 at the skills of an own plan, 200 when it has no limit', async () => {
  await using test = await withPlan({ ...FAMILY, skills: 1 })
  const { skills } = await read(Marketplace, test.web.request('/api/skills'))
  const [first, second] = skills.map(({ id }) => id)
  const install = (id: string | undefined) =>
    test.web.request('/api/skills', json('POST', { skillId: id, agentId: test.agentId }, test.cookie))
  expect((await install(first)).status).toBe(200)
  expect((await install(second)).status).toBe(429)
  await test.call('PUT', '/family', { agents: 2 })
  expect((await install(second)).status).toBe(200)
  expect(test.platform.db.select().from(installedSkills).all()).toHaveLength(2)
})

test('POST /api/ai/chat: 200 with the internal key when x-user-plan names an own plan', async () => {
  await using test = await withPlan()
  const { INTERNAL_KEY } = await import('../../../../tests/harness/platform.ts')
  const headers = { ...bearer(INTERNAL_KEY), 'x-user-plan': 'family', 'x-billing-subscription-id': 'sub_1' }
  expect((await test.ask('/api/ai/chat', HELLO, headers)).status).toBe(200)
  expect((await test.ask('/api/ai/chat', HELLO, { ...headers, 'x-user-plan': 'gold' })).status).toBe(402)
})

const limits = {
  models: null,
  agents: 1,
  skills: null,
  messagesPerDay: null,
  tokensPerMonth: null,
  usdPerMonth: null,
  storageGb: 1,
}

test('takePlansOfFile adds and updates plans, and keeps those that the dashboard changed or that are in use', async () => {
  await using test = await withPlan()
  const deps = {
    ...test.platform,
    plans: {
      byDefault: null,
      own: [
        { name: 'team', ...limits },
        { name: 'club', ...limits },
      ],
    },
  }
  expect(await takePlansOfFile(deps)).toEqual([])
  expect((await test.call('PUT', '/team', { agents: 7 })).status).toBe(200)
  await write(test.platform.db, (tx) => tx.update(users).set({ plan: 'club' }).where(eq(users.id, test.user.id)).run())
  expect(await takePlansOfFile({ ...deps, plans: { byDefault: null, own: [{ name: 'team', ...limits }] } })).toEqual([
    'club',
  ])
  const own = (await test.list()).plans.slice(4)
  expect(own.map(({ name, source, agents }) => [name, source, agents])).toEqual([
    ['club', 'dashboard', 1],
    ['family', 'dashboard', 2],
    ['team', 'dashboard', 7],
  ])
  await write(test.platform.db, (tx) => tx.update(users).set({ plan: 'free' }).run())
  await takePlansOfFile({ ...deps, plans: { byDefault: null, own: [{ name: 'shop', ...limits }] } })
  await takePlansOfFile({ ...deps, plans: { byDefault: null, own: [] } })
  expect((await test.list()).plans.map(({ name }) => name)).not.toContain('shop')
})
