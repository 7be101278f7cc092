import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { CreatedKey, Key, RotatedKey } from './schemas.ts'

/** The address of the test's client. */
const HERE = '203.0.113.7'

async function ownerOf(settings: object) {
  const test = testPlatform()
  const { cookie } = await test.signIn('ada@example.com', 'solo')
  const created = await read(
    CreatedKey,
    test.web.request('/api/keys', json('POST', { name: 'k', ...settings }, cookie)),
  )
  return {
    ...test,
    ...created,
    cookie,
    shown: () => read(Key, test.web.request(`/api/keys/${created.id}`, { headers: cookie })),
    change: (body: unknown) => test.web.request(`/api/keys/${created.id}`, json('PATCH', body, cookie)),
    /** Uses the key in every way. */
    use: (key = created.key) =>
      Promise.all([
        test.web.request('/api/agents', { headers: bearer(key) }),
        test.web.request('/api/keys/validate', json('POST', { apiKey: key })),
        test.web.request('/api/me/usage', { headers: bearer(key) }),
        test.backend.request('/api/validate-key', { method: 'POST', headers: bearer(key) }),
        test.backend.request('/v1/models', { headers: bearer(key) }),
        test.backend.request('/api/me/usage', { headers: bearer(key) }),
      ]),
  }
}

test.each([[[HERE]], [['198.51.100.0/24', '203.0.113.0/24']], [['0.0.0.0/0']], [[]], [null]])(
  'a key with allowedCidrs %j: 200 from an allowed address',
  async (allowedCidrs) => {
    const owner = await ownerOf({ allowedCidrs })
    expect((await owner.use()).map(({ status }) => status)).toEqual(Array(6).fill(200))
    expect((await owner.shown()).allowedCidrs).toEqual(allowedCidrs ?? [])
  },
)

test.each([[['198.51.100.0/24']], [['203.0.113.8']], [['2001:db8::/32']], [['::/0']]])(
  'a key with allowedCidrs %j: 403 ADDRESS_NOT_ALLOWED from another address',
  async (allowedCidrs) => {
    const owner = await ownerOf({ allowedCidrs })
    for (const response of await owner.use()) {
      expect(response.status).toBe(403)
      expect(await response.text()).toMatch(/This key may not be used from this address.*ADDRESS_NOT_ALLOWED/)
    }
  },
)

test('POST /api/keys/:id/rotate: 201 with the same allowedCidrs; null in PATCH removes them at once', async () => {
  const owner = await ownerOf({ allowedCidrs: ['198.51.100.0/24'] })
  const { id, key } = await read(
    RotatedKey,
    owner.web.request(`/api/keys/${owner.id}/rotate`, json('POST', { overlapHours: 1 }, owner.cookie)),
  )
  expect((await owner.use(key)).map(({ status }) => status)).toEqual(Array(6).fill(403))
  await owner.web.request(`/api/keys/${id}`, json('PATCH', { allowedCidrs: null }, owner.cookie))
  expect((await owner.use(key)).map(({ status }) => status)).toEqual(Array(6).fill(200))
})

test.each([
  ['203.0.113.7'],
  [['203.0.113.0/33']],
  [['example.com']],
  [['203.0.113']],
  [['0x7f.0.0.1']],
  [['fe80::1%eth0']],
  [[7]],
  [Array(101).fill('203.0.113.7')],
])('POST and PATCH /api/keys: 400 when allowedCidrs are %j', async (allowedCidrs) => {
  const owner = await ownerOf({})
  const error = 'allowedCidrs must be a list of up to 100 addresses or ranges such as 203.0.113.0/24'
  for (const response of [
    await owner.web.request('/api/keys', json('POST', { name: 'k', allowedCidrs }, owner.cookie)),
    await owner.change({ allowedCidrs }),
  ])
    expect([response.status, await response.json()]).toEqual([400, { error }])
})

const later = () => new Date(Date.now() + 86_400_000).toISOString()

test('PATCH /api/keys/:id: 200 with a budget increase, which null and the removal of the budget end', async () => {
  const owner = await ownerOf({ monthlyBudgetUsd: 1 })
  const budgetIncrease = { usd: 5, until: later() }
  expect(await read(Key, owner.change({ budgetIncrease }))).toMatchObject({ budgetIncrease })
  expect(await read(Key, owner.change({ name: 'other' }))).toMatchObject({ budgetIncrease })
  expect(await read(Key, owner.change({ budgetIncrease: null }))).toMatchObject({ budgetIncrease: null })
  await owner.change({ budgetIncrease })
  expect(await read(Key, owner.change({ monthlyBudgetUsd: null }))).toMatchObject({ budgetIncrease: null })
})

test.each([
  [{ monthlyBudgetUsd: 1, budgetIncrease: { usd: 0, until: later() } }, /^budgetIncrease must be/],
  [{ monthlyBudgetUsd: 1, budgetIncrease: { usd: 1, until: 'tomorrow' } }, /^budgetIncrease must be/],
  [{ monthlyBudgetUsd: 1, budgetIncrease: 5 }, /^budgetIncrease must be/],
  [{ monthlyBudgetUsd: 1, budgetIncrease: { usd: 1, until: '2020-01-01T00:00:00Z' } }, /must be in the future$/],
  [{ budgetIncrease: { usd: 1, until: later() } }, /^budgetIncrease needs a monthlyBudgetUsd/],
])('POST and PATCH /api/keys: 400 when the body is %j', async (settings, error) => {
  const owner = await ownerOf({})
  for (const response of [
    await owner.web.request('/api/keys', json('POST', { name: 'k', ...settings }, owner.cookie)),
    await owner.change(settings),
  ])
    expect([response.status, await response.json()]).toEqual([400, { error: expect.stringMatching(error) }])
  expect(await owner.shown()).toMatchObject({ limits: { monthlyBudgetUsd: null }, budgetIncrease: null })
})
