import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { startStripeDouble } from '../../../../tests/harness/doubles/stripe.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { noteReferral } from '../../accounts/referrals/referrals.ts'
import { users } from '../../accounts/users/tables.ts'
import { Billing } from '../billing/schemas.ts'
import { checkLedger } from '../ledger/check.ts'
import { LedgerPage } from '../ledger/schemas.ts'
import { ReceiptList } from '../receipts/schemas.ts'
import { endDuplicateJob } from './end.ts'
import { PaymentPage } from './schemas.ts'
import { endGraces } from './subscriptions.ts'

/** A signal that never aborts. */
const NEVER = new AbortController().signal
const DAY_MS = 86_400_000
const Problem = z.object({ error: z.string(), code: z.string().optional() })
const GIGABYTE = 1024 ** 3
const HTML = { accept: 'text/html,application/xhtml+xml' }

/** A platform with a card service and a signed-in user. */
async function installation(environment: Record<string, string> = {}) {
  const stripe = startStripeDouble()
  const logLines: string[] = []
  const it = testPlatform({ environment: { ...stripe.environment, ...environment }, logLines })
  const ada = await it.signIn('ada@example.com')
  const { db } = it.platform.payments
  const seconds = () => Math.floor(it.clock.now().getTime() / 1000)
  let events = 0
  const event = (type: string, object: object, more: { id?: string; created?: number } = {}) => ({
    id: more.id ?? `evt_${++events}`,
    object: 'event',
    type,
    created: more.created ?? seconds(),
    data: { object },
  })
  const send = async (...args: Parameters<typeof stripe.deliver>) =>
    it.web.request('/api/webhooks/stripe', await stripe.deliver(args[0], { timestamp: seconds(), ...args[1] }))
  const subscription = (over: Record<string, unknown> = {}, minorUnits = 2900) => ({
    id: 'sub_1',
    object: 'subscription',
    status: 'active',
    customer: 'cus_1',
    cancel_at_period_end: false,
    items: {
      data: [{ current_period_end: seconds() + 30 * 86_400, price: { currency: 'gbp', unit_amount: minorUnits } }],
    },
    metadata: { userId: ada.user.id, purpose: 'plan', plan: 'solo' },
    ...over,
  })
  return {
    ...it,
    db,
    stripe,
    ada,
    event,
    send,
    subscription,
    seconds,
    logLines,
    get: (path: string, headers: Record<string, string> = {}) =>
      it.web.request(path, { headers: { ...ada.cookie, ...headers } }),
    bill: (body: object) => it.web.request('/api/billing', json('POST', body, ada.cookie)),
    billing: () => read(Billing, it.web.request('/api/billing', { headers: ada.cookie })),
    ledger: () => read(LedgerPage, it.web.request('/api/ledger', { headers: ada.cookie })),
    row: () => db.select().from(users).where(eq(users.id, ada.user.id)).get(),
    mails: () =>
      db
        .select()
        .from(jobs)
        .all()
        .flatMap(({ kind, payload }) => (kind === 'accounts.mail' ? [(payload as { mail: string }).mail] : [])),
    [Symbol.asyncDispose]: () => stripe.stop(),
  }
}

test('GET /api/payments/checkout: 303 to the card service at our price, and no plan before it reports the payment', async () => {
  await using it = await installation()
  for (const [plan, minorUnits] of [
    ['solo', 2900],
    ['collective', 6900],
    ['label', 14_900],
    ['network', 49_900],
  ] as const) {
    const response = await it.get(`/api/payments/checkout?plan=${plan}&price=0.01`)
    expect([response.status, response.headers.get('location')]).toEqual([303, expect.stringContaining('/pay/cs_')])
    expect(it.stripe.calls.at(-1)).toMatchObject({
      path: '/v1/checkout/sessions',
      form: {
        mode: 'subscription',
        customer_email: 'ada@example.com',
        'line_items[0][price_data][currency]': 'gbp',
        'line_items[0][price_data][unit_amount]': String(minorUnits),
        'line_items[0][price_data][recurring][interval]': 'month',
        'metadata[userId]': it.ada.user.id,
        'subscription_data[metadata][plan]': plan,
        success_url: `http://localhost:3000/checkout/success?session_id={CHECKOUT_SESSION_ID}&plan=${plan}`,
      },
    })
  }
  expect(it.row()).toMatchObject({ plan: 'free', subscriptionStatus: 'inactive' })
  const again = await it.get('/api/payments/checkout?plan=network')
  expect(again.headers.get('location')).toEndWith('/pay/cs_4')
})

test.each([
  ['/api/payments/checkout?plan=gold', 400, '/pricing?error=invalid_plan'],
  ['/api/payments/checkout', 400, '/pricing?error=invalid_plan'],
  ['/api/payments/credits?price=0.01', 400, '/billing?error=invalid_price'],
  ['/api/payments/credits', 400, '/billing?error=invalid_price'],
])(
  'GET %s: %i for a program, a redirect back for a browser, no request to the card service',
  async (path, status, page) => {
    await using it = await installation()
    expect((await it.get(path)).status).toBe(status)
    const browser = await it.get(path, HTML)
    expect([browser.status, browser.headers.get('location')]).toEqual([303, page])
    expect(it.stripe.calls).toEqual([])
    expect((await it.web.request(path)).status).toBe(401)
  },
)

test('payment routes without Stripe: 503 NOT_CONFIGURED with the settings for the operator; GET /api/billing is 200', async () => {
  const { web, signIn } = testPlatform()
  const ada = await signIn('ada@example.com', 'solo')
  const post = (path: string, body: object) => web.request(path, json('POST', body, ada.cookie))
  const answers = [
    await web.request('/api/payments/checkout?plan=label', { headers: ada.cookie }),
    await web.request('/api/payments/credits?price=50', { headers: ada.cookie }),
    await post('/api/payments/storage-upgrade', {}),
    await post('/api/billing', { action: 'create-checkout', plan: 'label' }),
    await post('/api/billing', { action: 'buy-credits', pack: '50' }),
    await web.request('/api/webhooks/stripe', json('POST', {}, { 'stripe-signature': 't=1,v1=00' })),
  ]
  for (const response of answers) {
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({
      code: 'NOT_CONFIGURED',
      error: expect.stringMatching(/STRIPE_(SECRET_KEY|WEBHOOK_SECRET)/),
    })
  }
  const browser = await web.request('/api/payments/checkout?plan=label', { headers: { ...ada.cookie, ...HTML } })
  expect(browser.headers.get('location')).toBe('/pricing?error=stripe_not_configured')
  const billing = await read(Billing, web.request('/api/billing', { headers: ada.cookie }))
  expect(billing).toMatchObject({
    cardsConfigured: false,
    currentPlan: 'solo',
    subscriptionStatus: 'active',
    credits: 0,
  })
})

test('GET /api/payments/checkout: 503 without the webhook secret, because payments would not be credited', async () => {
  await using stripe = startStripeDouble()
  const { STRIPE_SECRET_KEY, STRIPE_API_BASE } = stripe.environment
  const { web, signIn } = testPlatform({ environment: { STRIPE_SECRET_KEY, STRIPE_API_BASE } })
  const { cookie } = await signIn('ada@example.com')
  const response = await web.request('/api/payments/checkout?plan=solo', { headers: cookie })
  expect(response.status).toBe(503)
  expect(await response.json()).toMatchObject({
    code: 'NOT_CONFIGURED',
    error: expect.stringContaining('STRIPE_WEBHOOK_SECRET'),
  })
  expect(await read(Billing, web.request('/api/billing', { headers: cookie }))).toMatchObject({
    cardsConfigured: false,
  })
  expect(stripe.calls).toEqual([])
})

test('POST /api/webhooks/stripe: 200 and only a subscription gives the plan of its price', async () => {
  await using it = await installation()
  const response = await it.send(it.event('customer.subscription.created', it.subscription({}, 6900)))
  expect([response.status, await response.json()]).toEqual([200, { received: true }])
  expect(it.row()).toMatchObject({ plan: 'collective', subscriptionStatus: 'active', subscriptionId: 'sub_1' })
  expect((await it.get('/api/payments/checkout?plan=label')).status).toBe(409)
  expect(await it.billing()).toMatchObject({
    currentPlan: 'collective',
    hasCustomer: true,
    subscriptions: [{ id: 'sub_1', purpose: 'plan', plan: 'collective', state: 'active', isEnding: false }],
  })
  await it.send(it.event('customer.subscription.updated', it.subscription({}, 123)))
  expect(it.row()).toMatchObject({ plan: 'collective' })
  const lines = it.db.select().from(auditLog).where(eq(auditLog.target, it.ada.user.id)).all()
  expect(lines).toMatchObject([{ actor: 'cards', action: 'account.change', detail: { plan: ['free', 'collective'] } }])
})

test('POST /api/webhooks/stripe: 400 when the event is unsigned, modified, foreign or old', async () => {
  await using it = await installation()
  const event = it.event('customer.subscription.created', it.subscription())
  const refused = [
    await it.web.request('/api/webhooks/stripe', json('POST', event)),
    await it.send(event, { secret: 'whsec_other' }),
    await it.send(event, { tamper: (body) => body.replace('2900', '49900') }),
    await it.send(event, { tamper: (body) => `${body} ` }),
    await it.send(event, { tamper: (body) => JSON.stringify(JSON.parse(body), null, 1) }),
    await it.send(event, { timestamp: it.seconds() - 301 }),
  ]
  for (const response of refused) {
    expect([response.status, await response.json()]).toEqual([400, { error: 'Invalid signature' }])
  }
  const signed = await it.stripe.deliver(event, { timestamp: it.seconds() })
  const signature = signed.headers['stripe-signature']
  for (let at = signature.indexOf('v1=') + 3; at < signature.length; at += 7) {
    const flipped = `${signature.slice(0, at)}${signature[at] === '0' ? '1' : '0'}${signature.slice(at + 1)}`
    const headers = { ...signed.headers, 'stripe-signature': flipped }
    expect((await it.web.request('/api/webhooks/stripe', { ...signed, headers })).status).toBe(400)
  }
  expect(it.row()).toMatchObject({ plan: 'free' })
  expect((await it.send(event)).status).toBe(200)
})

test('POST /api/webhooks/stripe: 200 and credits once when one payment is reported 200 times, also under other event ids', async () => {
  await using it = await installation()
  const session = {
    id: 'cs_1',
    mode: 'payment',
    payment_status: 'paid',
    amount_total: 1500,
    currency: 'usd',
    customer: 'cus_1',
    payment_intent: 'pi_1',
    metadata: { userId: it.ada.user.id, purpose: 'credits', pack: '200' },
  }
  const event = it.event('checkout.session.completed', session)
  const answers = await Promise.all(Array.from({ length: 200 }, () => it.send(event)))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
  const others = Array.from({ length: 200 }, () => it.event('checkout.session.async_payment_succeeded', session))
  await Promise.all(others.map((other) => it.send(other)))
  expect(await it.billing()).toMatchObject({ credits: 2000, balanceUsd: '20.00' })
  expect((await it.ledger()).lines).toMatchObject([{ amount: '20.00', memo: '2000 credits, paid by card' }])
  const { receipts } = await read(ReceiptList, it.get('/api/receipts'))
  expect(receipts).toMatchObject([
    { what: '2000 credits', method: 'card', amount: '15.00', currency: 'USD', reference: 'pi_1' },
  ])
  expect(checkLedger(it.db).faults).toEqual([])

  const refund = (amount: number) =>
    it.send(
      it.event('charge.refunded', { id: 'ch_1', currency: 'usd', amount_refunded: amount, payment_intent: 'pi_1' }),
    )
  await refund(500)
  await refund(1500)
  await refund(500)
  expect(await it.billing()).toMatchObject({ credits: 500, balanceUsd: '5.00' })
  expect((await read(ReceiptList, it.get('/api/receipts'))).receipts).toMatchObject([{ refunded: '15.00' }])
  expect(checkLedger(it.db).faults).toEqual([])
})

test.each([
  [{ payment_status: 'unpaid' }, 'not paid yet'],
  [{ amount_total: 1 }, 'another price'],
  [{ currency: 'jpy' }, 'another currency'],
  [{ metadata: { purpose: 'credits', pack: '500', userId: 'usr_nobody' } }, 'unknown user'],
  [{ metadata: {} }, 'somebody else’s sale'],
])('POST /api/webhooks/stripe: 200 without credits for %j (%s)', async (over) => {
  await using it = await installation()
  const session = {
    id: 'cs_1',
    mode: 'payment',
    payment_status: 'paid',
    amount_total: 3000,
    currency: 'usd',
    customer: 'cus_1',
    payment_intent: 'pi_1',
    metadata: { userId: it.ada.user.id, purpose: 'credits', pack: '500' },
    ...over,
  }
  expect((await it.send(it.event('checkout.session.completed', session))).status).toBe(200)
  expect(checkLedger(it.db)).toMatchObject({ entries: 0, faults: [] })
})

test('POST /api/webhooks/stripe: 200 and the first payment of a referred user credits both users', async () => {
  await using it = await installation()
  const referrer = await it.signIn('bo@example.com')
  await write(it.db, (tx) => noteReferral(tx, it.platform, it.ada.user, referrer.user.referralCode ?? ''))
  const session = (id: string) => ({
    id,
    mode: 'payment',
    payment_status: 'paid',
    amount_total: 1500,
    currency: 'usd',
    customer: 'cus_1',
    payment_intent: `pi_${id}`,
    metadata: { userId: it.ada.user.id, purpose: 'credits', pack: '200' },
  })
  for (const id of ['cs_1', 'cs_2']) {
    expect((await it.send(it.event('checkout.session.completed', session(id)))).status).toBe(200)
  }
  const creditsOfUser = (id: string) => it.db.select().from(users).where(eq(users.id, id)).get()?.credits
  expect([creditsOfUser(it.ada.user.id), creditsOfUser(referrer.user.id)]).toEqual([4010, 10])
  expect(checkLedger(it.db).faults).toEqual([])
})

test('POST /api/webhooks/stripe: 200 and the newest event decides in any order; after the end of a subscription none does', async () => {
  const orders = [
    [0, 1, 2, 3],
    [3, 2, 1, 0],
    [2, 0, 3, 1],
    [1, 3, 0, 2],
    [3, 0, 1, 2],
  ]
  for (const order of orders) {
    await using it = await installation()
    const start = it.seconds() - 100
    const life = [
      it.event('customer.subscription.created', it.subscription({ status: 'incomplete' }), { created: start }),
      it.event('customer.subscription.updated', it.subscription(), { created: start + 1 }),
      it.event('customer.subscription.updated', it.subscription({ cancel_at_period_end: true }, 6900), {
        created: start + 2,
      }),
      it.event('customer.subscription.deleted', it.subscription({ status: 'canceled' }, 6900), { created: start + 3 }),
    ]
    for (const at of order) expect((await it.send(life[at] ?? {})).status).toBe(200)
    expect([order, it.row()]).toMatchObject([
      order,
      { plan: 'free', subscriptionStatus: expect.stringMatching(/canceled|inactive/) },
    ])
    for (const event of life) await it.send(event)
    expect(it.row()).toMatchObject({ plan: 'free' })
    expect((await it.billing()).subscriptions).toEqual([])
  }
})

test('POST /api/webhooks/stripe: 200 without effect when an update is older, with effect when it has the same second', async () => {
  await using it = await installation()
  const now = it.seconds()
  await it.send(it.event('customer.subscription.updated', it.subscription({}, 14_900), { created: now }))
  await it.send(it.event('customer.subscription.updated', it.subscription({}, 2900), { created: now - 1 }))
  await it.send(it.event('customer.subscription.created', it.subscription({}, 2900), { created: now }))
  expect(it.row()).toMatchObject({ plan: 'label' })
  await it.send(it.event('customer.subscription.updated', it.subscription({}, 49_900), { created: now }))
  expect(it.row()).toMatchObject({ plan: 'network' })
})

test('POST /api/webhooks/stripe: a failed payment pauses the plan after the grace period until it is paid, with one mail each', async () => {
  await using it = await installation()
  const sendStatus = (status: string) => it.send(it.event('customer.subscription.updated', it.subscription({ status })))
  await sendStatus('active')
  await sendStatus('past_due')
  await sendStatus('past_due')
  expect(it.row()).toMatchObject({ plan: 'solo', subscriptionStatus: 'active' })
  expect((await it.billing()).subscriptions).toMatchObject([
    { state: 'past_due', graceEndsAt: new Date(it.seconds() * 1000 + 7 * DAY_MS).toISOString() },
  ])
  it.clock.advance(7 * DAY_MS - 1000)
  await endGraces(it.platform.payments)
  expect(it.row()).toMatchObject({ plan: 'solo', subscriptionStatus: 'active' })
  it.clock.advance(2000)
  await endGraces(it.platform.payments)
  await endGraces(it.platform.payments)
  await sendStatus('past_due')
  expect(it.row()).toMatchObject({ plan: 'solo', subscriptionStatus: 'past_due' })
  expect(it.mails()).toEqual(['payment-failed', 'grace-ended'])
  await sendStatus('active')
  expect(it.row()).toMatchObject({ plan: 'solo', subscriptionStatus: 'active' })
  await it.send(it.event('customer.subscription.deleted', it.subscription({ status: 'canceled' })))
  expect(it.row()).toMatchObject({ plan: 'free', subscriptionStatus: 'canceled', subscriptionId: null })
  expect(it.mails()).toEqual(['payment-failed', 'grace-ended', 'payment-made-good', 'subscription-ended'])
})

test('POST /api/payments/storage-upgrade: 200 with the page; the storage starts and ends with the payment', async () => {
  await using it = await installation()
  const upgrade = () => it.web.request('/api/payments/storage-upgrade', json('POST', {}, it.ada.cookie))
  expect((await upgrade()).status).toBe(402)
  await it.send(it.event('customer.subscription.created', it.subscription()))
  const { url } = await read(PaymentPage, upgrade())
  expect(url).toContain('/pay/cs_')
  expect(it.stripe.calls.at(-1)?.form).toMatchObject({
    customer: 'cus_1',
    'line_items[0][price_data][unit_amount]': '3900',
    'subscription_data[metadata][purpose]': 'storage',
  })
  expect((await it.billing()).storage).toEqual({ used: 0, limit: GIGABYTE })
  const storage = { id: 'sub_2', metadata: { userId: it.ada.user.id, purpose: 'storage' } }
  await it.send(it.event('customer.subscription.created', it.subscription(storage, 3900)))
  expect((await it.billing()).storage).toEqual({ used: 0, limit: 51 * GIGABYTE })
  it.platform.payments.storage.requireQuota(it.db, it.ada.user.id, 50 * GIGABYTE)
  await it.send(it.event('customer.subscription.deleted', it.subscription(storage, 3900)))
  expect((await it.billing()).storage).toEqual({ used: 0, limit: GIGABYTE })
  expect(it.row()).toMatchObject({ plan: 'solo' })
  expect((await it.web.request('/api/payments/storage-upgrade', json('POST', {}))).status).toBe(401)
})

test('POST /api/billing: 200 for portal, cancel, restore and change from the card service, without changes here', async () => {
  await using it = await installation()
  expect((await it.bill({ action: 'open-portal' })).status).toBe(404)
  expect((await it.bill({ action: 'cancel' })).status).toBe(404)
  await it.send(it.event('customer.subscription.created', it.subscription()))
  expect(await read(PaymentPage, it.bill({ action: 'open-portal' }))).toEqual({
    url: expect.stringContaining('/portal/cus_1'),
  })
  expect(await (await it.bill({ action: 'cancel' })).json()).toMatchObject({ success: true })
  expect(it.stripe.calls.at(-1)).toMatchObject({
    path: '/v1/subscriptions/sub_1',
    form: { cancel_at_period_end: 'true' },
  })
  await it.bill({ action: 'restore', subscriptionId: 'sub_1' })
  expect(it.stripe.calls.at(-1)?.form).toEqual({ cancel_at_period_end: 'false' })
  expect((await it.bill({ action: 'restore', subscriptionId: 'sub_9' })).status).toBe(404)
  expect((await it.bill({ action: 'change-plan', plan: 'solo' })).status).toBe(409)
  expect((await it.bill({ action: 'change-plan', plan: 'gold' })).status).toBe(400)
  expect((await it.bill({ action: 'change-plan', plan: 'label' })).status).toBe(200)
  expect(it.stripe.calls.at(-1)?.form).toMatchObject({
    'items[0][id]': 'si_1',
    'items[0][price_data][unit_amount]': '14900',
    'items[0][price_data][product]': 'prod_1',
    proration_behavior: 'create_prorations',
  })
  expect(it.row()).toMatchObject({ plan: 'solo' })
  const eve = await it.signIn('eve@example.com')
  const stranger = json('POST', { action: 'cancel', subscriptionId: 'sub_1' }, eve.cookie)
  expect((await it.web.request('/api/billing', stranger)).status).toBe(404)
})

test('POST /api/billing: 200 with checkout page and price for buy-credits and create-checkout; 400 when the product is unknown', async () => {
  await using it = await installation()
  expect(await (await it.bill({ action: 'buy-credits', pack: '50' })).json()).toEqual({
    success: true,
    url: expect.stringContaining('/pay/'),
    credits: 500,
    price: '$5',
  })
  expect(it.stripe.calls.at(-1)?.form).toMatchObject({
    mode: 'payment',
    'line_items[0][price_data][unit_amount]': '500',
  })
  expect(await (await it.bill({ action: 'buy-credits', amount: 500 })).json()).toMatchObject({
    credits: 5000,
    price: '$30',
  })
  expect(await (await it.bill({ action: 'create-checkout', plan: 'solo' })).json()).toEqual({
    url: expect.stringContaining('/pay/'),
  })
  for (const [body, error] of [
    [{ action: 'buy-credits', pack: '7' }, 'Invalid pack'],
    [{ action: 'buy-credits' }, 'Invalid pack'],
    [{ action: 'create-checkout', plan: 'toString' }, 'Invalid plan'],
    [{ action: 'dance' }, 'Invalid action'],
  ] as const) {
    const response = await it.bill(body)
    expect([response.status, await response.json()]).toEqual([400, { error }])
  }
})

test.each([
  ['down', 503, 'CARDS_UNAVAILABLE'],
  ['busy', 503, 'CARDS_UNAVAILABLE'],
  ['refuses', 502, 'CARDS_FAILED'],
  ['no key', 502, 'CARDS_FAILED'],
] as const)(
  'GET /api/payments/checkout: when the card service is %p, %i %s without its message',
  async (fault, status, code) => {
    await using it = await installation()
    it.stripe.fail(fault)
    const response = await it.get('/api/payments/checkout?plan=solo')
    const body = Problem.parse(await response.json())
    expect([response.status, body.code]).toEqual([status, code])
    expect(JSON.stringify(body)).not.toContain('acct_123')
    expect(it.logLines.join()).toContain('the card service failed')
    it.stripe.fail(null)
    expect((await it.get('/api/payments/checkout?plan=solo')).status).toBe(303)
  },
  300_000,
)

test('POST /api/webhooks/stripe: 200 for invoice.paid adds revenue and a receipt once, also for an unknown subscription', async () => {
  await using it = await installation()
  const invoice = (over: object) =>
    it.event('invoice.paid', {
      id: 'in_1',
      currency: 'gbp',
      amount_paid: 2900,
      number: 'A-1',
      customer: 'cus_1',
      ...over,
    })
  const details = {
    subscription_details: { subscription: 'sub_1', metadata: { userId: it.ada.user.id, plan: 'solo' } },
  }
  await it.send(invoice({ parent: details }))
  await it.send(it.event('customer.subscription.created', it.subscription()))
  await it.send(invoice({ subscription: 'sub_1' }))
  await it.send(invoice({ id: 'in_2', subscription: 'sub_1' }))
  await it.send(invoice({ id: 'in_3', subscription: 'sub_of_another_product' }))
  const { receipts } = await read(ReceiptList, it.get('/api/receipts'))
  expect(receipts.map(({ amount, currency, what }) => [amount, currency, what])).toEqual([
    ['29.00', 'GBP', 'Plan solo, one month'],
    ['29.00', 'GBP', 'Plan solo, one month'],
  ])
  expect(checkLedger(it.db)).toEqual({ entries: 2, lines: 4, accounts: 2, faults: [] })
  const one = `/api/receipts/${receipts[0]?.id}`
  expect(await (await it.get(one)).json()).toEqual(receipts[0])
  const page = await it.get(one, HTML)
  expect(page.headers.get('content-type')).toContain('text/html')
  expect(page.headers.get('content-security-policy')).toContain("style-src 'sha256-")
  expect(await page.text()).toContain('<dt>Paid</dt><dd>29.00 GBP</dd>')
  const eve = await it.signIn('eve@example.com')
  expect((await it.web.request(one, { headers: eve.cookie })).status).toBe(404)
  expect((await it.web.request(one)).status).toBe(404)
  expect((await it.web.request('/api/receipts')).status).toBe(401)
})

test('POST /api/webhooks/stripe: 200 cancels and credits the cheaper one of two paid plans, with one mail', async () => {
  await using it = await installation()
  it.stripe.customers.set('sub_2', 'cus_2')
  await it.send(it.event('customer.subscription.created', it.subscription({}, 6900)))
  const second = it.subscription({ id: 'sub_2', customer: 'cus_2' })
  await it.send(it.event('customer.subscription.created', second))
  await it.send(it.event('customer.subscription.updated', second))
  await it.send(it.event('customer.subscription.updated', it.subscription({}, 6900)))
  const asked = it.db.select().from(jobs).where(eq(jobs.kind, 'cards.end-duplicate')).all()
  expect(asked).toMatchObject([{ payload: { subscriptionId: 'sub_2', keptId: 'sub_1' } }])
  expect(it.mails()).toEqual(['duplicate-subscription'])
  const lines = it.db.select().from(auditLog).where(eq(auditLog.action, 'subscription.duplicate')).all()
  expect(lines).toMatchObject([
    { actor: 'cards', target: it.ada.user.id, detail: { ended: 'sub_2', endedPlan: 'solo', kept: 'sub_1' } },
  ])
  expect(await read(PaymentPage, it.bill({ action: 'open-portal' }))).toEqual({
    url: expect.stringContaining('/portal/cus_1'),
  })

  const { run } = endDuplicateJob(it.platform.payments)
  const payload = asked[0]?.payload
  it.stripe.fail('refuses')
  await expect(run(payload, NEVER)).rejects.toThrow('The card service refused')
  it.stripe.fail(null)
  const before = it.stripe.calls.length
  await run(payload, NEVER)
  await run(payload, NEVER)
  const changes = it.stripe.calls.slice(before).filter(({ method }) => method !== 'GET')
  const toKept = { path: '/v1/customers/cus_1/balance_transactions', form: { amount: '-1450', currency: 'gbp' } }
  const fromEnded = { path: '/v1/customers/cus_2/balance_transactions', form: { amount: '1450', currency: 'gbp' } }
  expect(changes).toMatchObject([
    { method: 'DELETE', path: '/v1/subscriptions/sub_2', form: { prorate: 'true', invoice_now: 'true' } },
    toKept,
    fromEnded,
    toKept,
    fromEnded,
  ])
  // The card service executes equal idempotency keys once.
  expect(new Set(changes.map(({ key }) => key)).size).toBe(3)

  await it.send(it.event('customer.subscription.deleted', { ...second, status: 'canceled' }))
  expect(it.row()).toMatchObject({ plan: 'collective', subscriptionId: 'sub_1' })
  expect((await it.billing()).subscriptions).toMatchObject([{ id: 'sub_1' }])
  expect(it.mails()).toEqual(['duplicate-subscription'])
})

test('POST /api/webhooks/stripe: 200 cancels the older one of two equal plans; ending subscriptions and storage stay', async () => {
  await using it = await installation()
  const asked = () =>
    it.db
      .select()
      .from(jobs)
      .where(eq(jobs.kind, 'cards.end-duplicate'))
      .all()
      .map(({ payload }) => payload)
  const storage = { id: 'sub_9', metadata: { userId: it.ada.user.id, purpose: 'storage' } }
  await it.send(it.event('customer.subscription.created', it.subscription(storage, 3900)))
  await it.send(it.event('customer.subscription.created', it.subscription({ cancel_at_period_end: true })))
  it.clock.advance(1000)
  await it.send(it.event('customer.subscription.created', it.subscription({ id: 'sub_2' })))
  expect(asked()).toEqual([])
  it.clock.advance(1000)
  await it.send(it.event('customer.subscription.created', it.subscription({ id: 'sub_3' })))
  expect(asked()).toEqual([{ subscriptionId: 'sub_2', keptId: 'sub_3' }])
  await endDuplicateJob(it.platform.payments).run(asked()[0], NEVER)
  // Both subscriptions belong to one customer, whom the proration credits.
  expect(it.stripe.calls.filter(({ path }) => path.includes('balance'))).toEqual([])
})

test('DELETE /api/settings/account: 200 cancels subscriptions at the card service', async () => {
  await using it = await installation()
  await it.send(it.event('customer.subscription.created', it.subscription()))
  const { deleteAccount } = await import('../../admin/personal-data/delete-account.ts')
  const caller = { userId: it.ada.user.id, sessionToken: it.ada.token }
  await deleteAccount(it.platform.admin, caller, { confirm: 'ada@example.com' })
  const asked = it.db.select().from(jobs).where(eq(jobs.kind, 'cards.end')).all()
  expect(asked).toMatchObject([{ payload: { subscriptionId: 'sub_1' } }])
  await it.platform.payments.cards.end('sub_1')
  expect(it.stripe.calls.at(-1)).toMatchObject({ method: 'DELETE', path: '/v1/subscriptions/sub_1' })
})

test('POST /api/subscriptions/deploy: 200 activates a tier; 400, 404 and 401 otherwise', async () => {
  await using it = await installation()
  const deploy = (body: object, headers = { authorization: `Bearer ${it.config.internalApiKey}` }) =>
    it.backend.request('/api/subscriptions/deploy', json('POST', body, headers))
  await it.send(
    it.event('checkout.session.completed', {
      id: 'cs_1',
      mode: 'subscription',
      payment_status: 'paid',
      customer: 'cus_1',
      metadata: { userId: it.ada.user.id },
    }),
  )
  expect(
    await (await deploy({ tier: 'white_glove', stripeCustomerId: 'cus_1', subscriptionId: 'sub_x' })).json(),
  ).toEqual({
    success: true,
    customerId: 'cus_1',
    subscriptionId: 'sub_x',
    tier: 'white_glove',
    resources: { memory: '16g', cpus: '4' },
  })
  expect(it.row()).toMatchObject({ plan: 'network', subscriptionStatus: 'active', subscriptionId: 'sub_x' })
  expect(await (await deploy({ tier: 'solo', customerId: it.ada.user.id })).json()).toMatchObject({
    resources: { memory: '2g', cpus: '1' },
  })
  for (const [body, status, error] of [
    [{ tier: 'solo' }, 400, 'customerId is required'],
    [{ customerId: 'cus_1' }, 400, 'tier is required'],
    [
      { customerId: 'cus_1', tier: 'constructor' },
      400,
      expect.stringContaining('Invalid tier. Valid tiers: solo, collective'),
    ],
    [{ customerId: 'cus_nobody', tier: 'solo' }, 404, 'Customer not found'],
  ] as const) {
    const response = await deploy(body)
    expect([response.status, Problem.parse(await response.json()).error]).toEqual([status, error])
  }
  expect((await deploy({ tier: 'solo', customerId: 'cus_1' }, { authorization: '' })).status).toBe(401)
})
