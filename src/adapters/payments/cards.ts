import type Stripe from 'stripe'
import type { Clock } from '../../core/clock.ts'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'

type CardsOptions = { secretKey: string | undefined; webhookSecret: string | undefined; apiBase: string }

/**
 * A product to pay for. `minorUnits` are pence or cents; `tags` are returned with each event; `attempt` is the
 * idempotency key.
 */
export type Checkout = {
  user: { id: string; email: string; customerId: string | null }
  product: { name: string; currency: 'gbp' | 'usd'; minorUnits: number; isMonthly: boolean }
  tags: Readonly<Record<string, string>>
  attempt: string
  successUrl: string
  cancelUrl: string
}

/** A verified event; the format of `data` depends on the sender's API version. */
export type CardEvent = { id: string; type: string; createdAt: Date; data: unknown }

/**
 * Card payments through Stripe. Every method throws AppError `unavailable` NOT_CONFIGURED, `unavailable` when Stripe is
 * unreachable or rate-limits, `upstream_failed` when it rejects a request.
 */
export type Cards = {
  readonly isConfigured: boolean
  /** Opens a page on which the product is paid. @returns its address. */
  createCheckout(checkout: Checkout): Promise<string>
  /** Opens the page on which a customer sees invoices and changes the card. @returns its address. */
  createPortal(customerId: string, returnUrl: string): Promise<string>
  /** Cancels a subscription at the end of its period, or resumes it. */
  setEnding(subscriptionId: string, isEnding: boolean): Promise<void>
  /** Cancels a subscription now; idempotent. */
  end(subscriptionId: string): Promise<void>
  /**
   * Cancels a duplicate of subscription `keptId` and credits the unused period to the kept one's customer; idempotent.
   */
  endDuplicate(subscriptionId: string, keptId: string): Promise<void>
  /** Changes the monthly price; the next invoice contains the difference. */
  changePrice(subscriptionId: string, price: { currency: 'gbp'; minorUnits: number }, attempt: string): Promise<void>
  /** @throws AppError `invalid` for a signature that is missing, wrong or older than five minutes. */
  readEvent(body: Uint8Array, signature: string | undefined): Promise<CardEvent>
}

const TIMEOUT_MS = 20_000
const RETRIES = 2
const TOLERANCE_SECONDS = 300

export function createCards(options: CardsOptions, deps: { clock: Clock; log: Log; fetch: typeof fetch }): Cards {
  let opened: Promise<Stripe> | undefined
  const requireStripe = () => {
    const { secretKey } = options
    if (!secretKey) throw notConfigured('STRIPE_SECRET_KEY')
    opened ??= openStripe(secretKey, options.apiBase, deps.fetch)
    return opened
  }
  const ask = async <T>(call: (stripe: Stripe) => Promise<T>): Promise<T> => {
    const stripe = await requireStripe()
    return call(stripe).catch((error: unknown) => {
      throw toAppError(error, deps.log)
    })
  }

  return {
    // Only signed events confirm payments, so nothing is sold without the webhook secret.
    isConfigured: Boolean(options.secretKey && options.webhookSecret),
    createCheckout: (checkout) =>
      ask(async (stripe) => {
        if (!options.webhookSecret) throw notConfigured('STRIPE_WEBHOOK_SECRET')
        const session = await stripe.checkout.sessions.create(toSession(checkout), { idempotencyKey: checkout.attempt })
        if (!session.url) throw new AppError('upstream_failed', 'The card service gave no page to pay on')
        return session.url
      }),
    createPortal: (customer, returnUrl) =>
      ask(async (stripe) => {
        const { url } = await stripe.billingPortal.sessions.create({ customer, return_url: returnUrl })
        return url
      }),
    setEnding: (id, isEnding) =>
      ask(async (stripe) => {
        await stripe.subscriptions.update(id, { cancel_at_period_end: isEnding })
      }),
    end: (id) =>
      ask(async (stripe) => {
        await stripe.subscriptions.cancel(id).catch((error: unknown) => {
          if (!isGone(error)) throw error
        })
      }),
    endDuplicate: (id, keptId) => ask((stripe) => endDuplicate(stripe, id, keptId)),
    changePrice: (id, price, attempt) => ask((stripe) => changePrice(stripe, id, price, attempt)),
    async readEvent(body, signature) {
      if (!options.webhookSecret) throw notConfigured('STRIPE_WEBHOOK_SECRET')
      const stripe = await requireStripe()
      const event = await verify(stripe, { body, signature, secret: options.webhookSecret, now: deps.clock.now() })
      return { id: event.id, type: event.type, createdAt: new Date(event.created * 1000), data: event.data.object }
    },
  }
}

/** Loaded on first use because the library is large and few installations use it. */
async function openStripe(secretKey: string, apiBase: string, send: typeof fetch): Promise<Stripe> {
  const { default: StripeClient } = await import('stripe')
  const { hostname, port, protocol } = new URL(apiBase)
  return new StripeClient(secretKey, {
    host: hostname,
    port: port || (protocol === 'http:' ? 80 : 443),
    protocol: protocol === 'http:' ? 'http' : 'https',
    httpClient: StripeClient.createFetchHttpClient(send),
    timeout: TIMEOUT_MS,
    maxNetworkRetries: RETRIES,
    telemetry: false,
  })
}

function toSession({ user, product, tags, successUrl, cancelUrl }: Checkout): Stripe.Checkout.SessionCreateParams {
  const metadata = { ...tags, userId: user.id }
  return {
    mode: product.isMonthly ? 'subscription' : 'payment',
    client_reference_id: user.id,
    ...(user.customerId === null
      ? { customer_email: user.email, ...(!product.isMonthly && { customer_creation: 'always' as const }) }
      : { customer: user.customerId }),
    line_items: [{ quantity: 1, price_data: toPriceData(product) }],
    metadata,
    ...(product.isMonthly ? { subscription_data: { metadata } } : { payment_intent_data: { metadata } }),
    success_url: successUrl,
    cancel_url: cancelUrl,
  }
}

function toPriceData({ currency, minorUnits, name, isMonthly }: Checkout['product']) {
  return {
    currency,
    unit_amount: minorUnits,
    product_data: { name },
    ...(isMonthly && { recurring: { interval: 'month' as const } }),
  }
}

/** Reads the cancelled subscription again first, so a retry completes an interrupted run. */
async function endDuplicate(stripe: Stripe, id: string, keptId: string): Promise<void> {
  const before = await stripe.subscriptions.retrieve(id)
  if (before.status !== 'canceled') await stripe.subscriptions.cancel(id, { prorate: true, invoice_now: true })
  const ended = await stripe.subscriptions.retrieve(id, { expand: ['latest_invoice'] })
  const kept = await stripe.subscriptions.retrieve(keptId)
  const [from, to] = [idOf(ended.customer), idOf(kept.customer)]
  const invoice = ended.latest_invoice
  // The same customer has the credit already; two checkouts opened before the first payment create two customers.
  if (from === to || invoice === null || typeof invoice === 'string' || invoice.total >= 0) return
  const { total, currency } = invoice
  const move = (customer: string, amount: number) =>
    stripe.customers.createBalanceTransaction(
      customer,
      { amount, currency, description: `Left of ${id}`, metadata: { subscription: id } },
      { idempotencyKey: `stead-duplicate-${id}-${customer}` },
    )
  // A negative amount is a credit.
  await move(to, total)
  await move(from, -total)
}

function idOf(object: string | { id: string }): string {
  return typeof object === 'string' ? object : object.id
}

async function changePrice(
  stripe: Stripe,
  id: string,
  { currency, minorUnits }: { currency: 'gbp'; minorUnits: number },
  attempt: string,
): Promise<void> {
  const { items } = await stripe.subscriptions.retrieve(id)
  const item = items.data[0]
  if (!item) throw new AppError('upstream_failed', 'The card service knows no price of this subscription')
  const product = typeof item.price.product === 'string' ? item.price.product : item.price.product.id
  const price = { currency, product, recurring: { interval: 'month' as const }, unit_amount: minorUnits }
  await stripe.subscriptions.update(
    id,
    {
      items: [{ id: item.id, price_data: price }],
      proration_behavior: 'create_prorations',
      cancel_at_period_end: false,
    },
    { idempotencyKey: attempt },
  )
}

async function verify(
  stripe: Stripe,
  { body, signature, secret, now }: { body: Uint8Array; signature: string | undefined; secret: string; now: Date },
): Promise<Stripe.Event> {
  if (!signature) throw invalidSignature()
  const { webhooks } = stripe
  const receivedAt = now.getTime()
  return webhooks
    .constructEventAsync(Buffer.from(body), signature, secret, TOLERANCE_SECONDS, undefined, receivedAt)
    .catch((error: unknown) => {
      throw invalidSignature(error)
    })
}

function invalidSignature(cause?: unknown): AppError {
  return new AppError('invalid', 'Invalid signature', {}, { cause })
}

function notConfigured(setting: string): AppError {
  const message = `Cards are not configured here: an operator sets ${setting}, or gives plans and credits by stead user`
  return new AppError('unavailable', message, { code: 'NOT_CONFIGURED' })
}

/** Logs Stripe's message for the operator only, because it may name the account. */
function toAppError(error: unknown, log: Log): AppError {
  if (error instanceof AppError) return error
  const type = error instanceof Error && 'type' in error ? String(error.type) : ''
  log.error({ error: errorMessage(error), type }, 'the card service failed')
  if (type === 'StripeConnectionError' || type === 'StripeRateLimitError' || type === 'StripeAPIError') {
    const message = 'The card service cannot be reached. Try again in a minute.'
    return new AppError('unavailable', message, { code: 'CARDS_UNAVAILABLE' }, { cause: error })
  }
  return new AppError('upstream_failed', 'The card service refused', { code: 'CARDS_FAILED' }, { cause: error })
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'resource_missing'
}
