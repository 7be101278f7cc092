import Stripe from 'stripe'

type Fault = 'down' | 'busy' | 'refuses' | 'no key'
type Form = Record<string, string>
type Call = { method: string; path: string; form: Form; key: string | null }

const SECRET_KEY = 'sk_test_of_the_double'
const WEBHOOK_SECRET = 'whsec_of_the_double'

/** Proration in pence of a subscription that ends halfway through its period; a credit is negative. */
const LEFT = -1450

/** Starts Stripe's API as its SDK uses it: form requests, objects and errors, idempotency keys. */
export function startStripeDouble() {
  const calls: Call[] = []
  const answers = new Map<string, { body: string; form: string }>()
  /** Cancelled subscriptions, and whether each was prorated. */
  const ended = new Map<string, boolean>()
  /** Customer by subscription; the default is `cus_1`. */
  const customers = new Map<string, string>()
  let fault: Fault | null = null
  let made = 0
  const server: Bun.Server<undefined> = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request): Promise<Response> {
      const { pathname: path, searchParams } = new URL(request.url)
      const text = await request.text()
      const form: Form = Object.fromEntries([...searchParams, ...new URLSearchParams(text)])
      const key = request.headers.get('idempotency-key')
      calls.push({ method: request.method, path, form, key })
      if (request.headers.get('authorization') !== `Bearer ${SECRET_KEY}`) return refuse(401, 'invalid_request_error')
      if (fault === 'down') return refuse(500, 'api_error')
      if (fault === 'busy') return refuse(429, 'rate_limit_error')
      if (fault === 'refuses') return refuse(400, 'invalid_request_error')
      if (fault === 'no key') return refuse(401, 'authentication_error')
      const before = key === null ? undefined : answers.get(`${path} ${key}`)
      if (before && before.form !== text) return refuse(400, 'idempotency_error')
      if (before) return reply(before.body)
      const body = JSON.stringify(answer(request.method, path, form))
      if (key !== null) answers.set(`${path} ${key}`, { body, form: text })
      return reply(body)
    },
  })

  const answer = (method: string, path: string, form: Form): object => {
    made++
    if (path === '/v1/checkout/sessions') {
      return { id: `cs_${made}`, object: 'checkout.session', url: `${server.url.origin}/pay/cs_${made}`, ...form }
    }
    if (path === '/v1/billing_portal/sessions') {
      return {
        id: `bps_${made}`,
        object: 'billing_portal.session',
        url: `${server.url.origin}/portal/${form.customer}`,
      }
    }
    if (path.endsWith('/balance_transactions')) return { id: `cbtxn_${made}`, object: 'customer_balance_transaction' }
    const id = path.split('/').at(-1) ?? ''
    if (method === 'DELETE') ended.set(id, form.prorate === 'true')
    const price = { id: 'price_1', object: 'price', product: 'prod_1', currency: 'gbp', unit_amount: 2900 }
    const status = ended.has(id) ? 'canceled' : 'active'
    const customer = customers.get(id) ?? 'cus_1'
    const invoice = ended.get(id) ? { id: 'in_left', object: 'invoice', total: LEFT, currency: 'gbp' } : null
    return {
      id,
      object: 'subscription',
      status,
      customer,
      latest_invoice: invoice,
      items: { object: 'list', data: [{ id: 'si_1', price }] },
    }
  }
  const sdk = new Stripe(SECRET_KEY)
  return {
    environment: {
      STRIPE_SECRET_KEY: SECRET_KEY,
      STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      STRIPE_API_BASE: server.url.origin,
    },
    calls,
    customers,
    fail(next: Fault | null) {
      fault = next
    },
    /** Sends `event` as a webhook, signed by the SDK's own helper. */
    async deliver(
      event: object,
      signed: { secret?: string; timestamp?: number; tamper?: (body: string) => string } = {},
    ) {
      const payload = JSON.stringify(event)
      const signature = await sdk.webhooks.generateTestHeaderStringAsync({
        payload,
        secret: signed.secret ?? WEBHOOK_SECRET,
        ...(signed.timestamp !== undefined && { timestamp: signed.timestamp }),
      })
      return {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'stripe-signature': signature },
        body: signed.tamper?.(payload) ?? payload,
      }
    },
    stop: () => server.stop(true),
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}

function refuse(status: number, type: string): Response {
  return reply(JSON.stringify({ error: { type, message: 'No, with a secret in it: acct_123' } }), status)
}

function reply(body: string, status = 200): Response {
  return new Response(body, { status, headers: { 'content-type': 'application/json', 'request-id': 'req_1' } })
}
