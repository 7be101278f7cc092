import { expect, test } from 'bun:test'
import { startStripeDouble } from '../../../../tests/harness/doubles/stripe.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { Billing } from './schemas.ts'

test('GET /api/billing: 200 with plans, packs and usage; 401 without a session', async () => {
  const { web, signIn } = testPlatform()
  const ada = await signIn('ada@example.com', 'solo')
  const billing = await read(Billing, web.request('/api/billing', { headers: ada.cookie }))
  expect(Object.entries(billing.plans).map(([plan, { price, agents }]) => [plan, price, agents])).toEqual([
    ['solo', 29, 1],
    ['collective', 69, 3],
    ['label', 149, 10],
    ['network', 499, -1],
  ])
  expect(billing).toMatchObject({ currentPlan: 'solo', subscriptionStatus: 'active', credits: 0 })
  expect(billing.usage.used).toBe(0)
  expect((await web.request('/api/billing')).status).toBe(401)
})

test('GET /api/payments/credits: 303 to the card service at the price of the pack, and no credits before it reports the payment', async () => {
  await using stripe = startStripeDouble()
  const { web, signIn } = testPlatform({ environment: stripe.environment })
  const ada = await signIn('ada@example.com')
  const response = await web.request('/api/payments/credits?price=200', { headers: ada.cookie })
  expect([response.status, response.headers.get('location')]).toEqual([303, expect.stringContaining('/pay/cs_')])
  expect(stripe.calls.at(-1)?.form).toMatchObject({
    mode: 'payment',
    'line_items[0][price_data][currency]': 'usd',
    'line_items[0][price_data][unit_amount]': '1500',
    'metadata[userId]': ada.user.id,
  })
  const { credits } = await read(Billing, web.request('/api/billing', { headers: ada.cookie }))
  expect(credits).toBe(0)
})
