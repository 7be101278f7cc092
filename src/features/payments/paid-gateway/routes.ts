import { type Context, Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { ChainCharges, Charge } from '../../../adapters/payments/chain-charges.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import { sha256 } from '../../../core/secrets.ts'
import { receiveText } from '../../../http/bodies/body.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { OnceEnv, PayerEnv, SignedInUser, WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import type { Base } from '../../base.ts'
import type { FindTier } from '../x402/colony.ts'
import { priceOf } from '../x402/rating.ts'
import {
  claimPayment,
  describeRefund,
  earnPayment,
  findPaid,
  payByCredits,
  refundPayment,
  WORK_MS,
  type Work,
} from './payments.ts'
import { GatewayOffer, GatewayResult } from './schemas.ts'
import { settleAgain, settleOnce, settleShown, toId } from './settle.ts'
import type { GatewayPaymentRow } from './tables.ts'

const PATH = '/api/v1/gateway'
const CREDITS_PATH = '/api/payments/credits?price=50'

type GatewayEnv = WebEnv & OnceEnv & PayerEnv
/** `priceMicroUsd` is what the caller pays, `discount` the percentage saved by the agent's tier. */
type Order = {
  id: string
  plugin: Plugin
  body: Record<string, unknown>
  user: SignedInUser | null
  priceMicroUsd: number
  discount: number
}
type Paid = { row: GatewayPaymentRow; reference: string | null; sealed(response: Response): Response }

/** Work paid by the request itself: from credits, or on chain by MPP or x402. */
export function paidGatewayWeb(
  deps: Base & {
    chainCharges: ChainCharges
    guards: Guards
    idempotency: Idempotency
    findTier: FindTier
    appUrl: string
    requestsPerMinute: { gateway: number }
  },
  plugins: Plugins,
) {
  const app = new Hono<GatewayEnv>()
  const limit = limitRate(() => deps.requestsPerMinute.gateway, 'Too many requests, please slow down.')

  const underWay = new Set<string>()

  app.get(
    PATH,
    endpoint({ summary: 'Lists plugins and prices', tag: 'Paid gateway', responses: { 200: GatewayOffer } }),
    limit,
    (c) =>
      c.json({
        plugins: [...plugins].map(([id, { name, description, priceMicroUsd }]) => ({
          id,
          name,
          description,
          price: formatMicroUsd(priceMicroUsd, 2),
        })),
        onChain: deps.chainCharges.terms,
      }),
  )

  const enter = createMiddleware<GatewayEnv>(async (c, next) => {
    c.set('payer', await deps.guards.findUser(c))
    // Work may take longer than the listener keeps a silent connection.
    c.env.keepOpen?.(c.req.raw)
    await next()
  })

  app.post(
    PATH,
    endpoint({
      summary: 'Sells one call of a plugin',
      tag: 'Paid gateway',
      responses: { 200: GatewayResult },
      errors: [
        'invalid',
        'unauthenticated',
        'payment_required',
        'not_found',
        'conflict',
        'limited',
        'internal',
        'upstream_failed',
        'unavailable',
      ],
      scope: 'payments',
    }),
    limit,
    enter,
    deps.idempotency.forPayer,
    async (c) => {
      const order = readOrder(deps, plugins, c.var.payer, await readBody(c), c.req.header('x-plugin-id'))
      const paid = await pay(deps, c, order, underWay)
      return paid instanceof Response ? paid : work(deps, c, order, paid)
    },
  )

  return app
}

/** Anything but a JSON object counts as an empty object, as existing clients expect. */
async function readBody(c: Context<GatewayEnv>): Promise<Record<string, unknown>> {
  const text = await receiveText(c)
  try {
    const body: unknown = text === '' ? {} : JSON.parse(text)
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? { ...body } : {}
  } catch (error) {
    if (error instanceof SyntaxError) return {}
    throw error
  }
}

/** Validates the request before payment. @throws AppError `upstream_failed` no_plugin, and as `check` of the plugin. */
function readOrder(
  { findTier }: { findTier: FindTier },
  plugins: Plugins,
  user: SignedInUser | null,
  body: Record<string, unknown>,
  header: string | undefined,
): Order {
  const id = header ?? String(body.plugin ?? (typeof body.agent === 'string' ? 'agent' : ''))
  const plugin = plugins.get(id)
  if (!plugin) {
    const message = `No plugin registered for id "${id.slice(0, 100)}"`
    throw new AppError('upstream_failed', 'no_plugin', { message })
  }
  plugin.check({ body, user })
  const tier = user && typeof body.agentId === 'string' ? findTier(user.id, body.agentId) : 'new'
  const { microUsd: priceMicroUsd, discount } = priceOf(plugin.priceMicroUsd, tier)
  return { id, plugin, body, user, priceMicroUsd, discount }
}

async function pay(
  deps: Base & { chainCharges: ChainCharges; appUrl: string },
  c: Context<GatewayEnv>,
  order: Order,
  underWay: Set<string>,
): Promise<Paid | Response> {
  const { id, plugin, user, body, priceMicroUsd } = order
  const { once } = c.var
  const requestHash = sha256(JSON.stringify([id, user?.id ?? null, body]))
  const work: Work = { plugin: id, what: plugin.description, userId: user?.id ?? null, requestHash, once }
  const paidBefore = await payAgain(deps, work, underWay)
  if (paidBefore) return paidBefore
  const asked = c.req.header('x-payment-method')
  const isOnChain =
    asked === 'mpp' ||
    c.req.header('payment-signature') !== undefined ||
    c.req.header('authorization')?.startsWith('Payment ') === true
  if (user && !isOnChain) {
    const row = await payByCredits(deps, { ...work, userId: user.id }, priceMicroUsd)
    return { row, reference: null, sealed: (response) => response }
  }
  // Without a chain, an anonymous caller can only be sent to the credits page.
  if (!isOnChain && deps.chainCharges.terms === null) return askToPay(c, deps, order, null)
  const request = new Request(`${deps.appUrl}${PATH}`, { method: 'POST', headers: c.req.raw.headers })
  const price = { amount: formatMicroUsd(priceMicroUsd), description: plugin.description }
  const charge = await deps.chainCharges.charge(request, price, (payment) => settleOnce(deps, underWay, work, payment))
  if (!charge.isPaid) {
    const reference = charge.shown && (await settleShown(deps, underWay, work, charge.shown))
    if (!charge.shown || reference === null) return askToPay(c, deps, order, charge)
    return { row: await claimPayment(deps, toId(charge.shown), once), reference, sealed: (response) => response }
  }
  const row = await claimPayment(deps, toId(charge.payment), once)
  return { row, reference: charge.payment.reference, sealed: charge.sealed }
}

/** Resumes the payment of an earlier attempt of the same request, so nothing is paid twice. */
async function payAgain(
  deps: Base & { chainCharges: ChainCharges },
  work: Work,
  underWay: Set<string>,
): Promise<Paid | null> {
  const paid = findPaid(deps.db, work.once)
  if (!paid) return null
  const sealed = (response: Response) => response
  if (paid.isAtWork) return { row: paid.row, reference: paid.row.reference, sealed }
  const reference = await settleAgain(deps, underWay, work, paid.row)
  return { row: await claimPayment(deps, paid.row.id, work.once), reference, sealed }
}

/** Responds 402 with the challenges of both protocols as headers and as JSON. */
function askToPay(
  c: Context<GatewayEnv>,
  { chainCharges, appUrl }: { chainCharges: ChainCharges; appUrl: string },
  { id, plugin, priceMicroUsd }: Order,
  challenge: Extract<Charge, { isPaid: false }> | null,
): Response {
  const amount = formatMicroUsd(priceMicroUsd, 2)
  const { terms } = chainCharges
  const authenticate = challenge?.headers.get('www-authenticate') ?? null
  const nonce = /\bid="([^"]+)"/.exec(authenticate ?? '')?.[1] ?? null
  const expires = /\bexpires="([^"]+)"/.exec(authenticate ?? '')?.[1]
  for (const name of ['www-authenticate', 'payment-required']) {
    const value = challenge?.headers.get(name)
    if (value) c.header(name, value)
  }
  return c.json(
    {
      error: 'payment_required',
      message: challenge?.reason ?? `Payment required for ${id}. Choose payment method: Stripe or Tempo MPP.`,
      mpp: terms && {
        scheme: 'Payment',
        amount,
        currency: terms.token,
        recipient: terms.payTo,
        chainId: terms.chainId,
        description: plugin.description,
        nonce,
        expiresAt: expires ? Date.parse(expires) : null,
      },
      stripe: { checkoutUrl: `${appUrl}${CREDITS_PATH}`, amount, currency: 'usd' },
    },
    402,
  )
}

/**
 * Does the work and refunds the payment when it fails. The work continues after a disconnect: its provider charges
 * anyway, and a retry with the same `Idempotency-Key` gets the response.
 */
async function work(deps: Base, c: Context<GatewayEnv>, order: Order, paid: Paid): Promise<Response> {
  const { id, plugin, body, user, discount } = order
  const { row, reference } = paid
  c.header('x-plugin-id', id)
  try {
    const result = await plugin.run({ body, user, signal: AbortSignal.timeout(WORK_MS) })
    const receipt = await earnPayment(deps, row)
    const payment = {
      method: row.method === 'credits' ? 'stripe' : row.method,
      amount: formatMicroUsd(row.amountMicros, 2),
      discount,
      receipt: reference,
      receiptId: receipt,
    }
    const timestamp = deps.clock.now().toISOString()
    return paid.sealed(c.json({ plugin: id, message: `Request processed by ${id} plugin`, timestamp, result, payment }))
  } catch (error) {
    const reason = error instanceof AppError ? error.message : 'The work failed'
    if (!(error instanceof AppError)) deps.log.error({ plugin: id, error: errorMessage(error) }, 'paid work failed')
    const { to, amountMicros, currency, receipt } = await refundPayment(deps, row, reason)
    const back = { to, amount: formatMicroUsd(amountMicros, 2), currency, receiptId: receipt }
    return paid.sealed(c.json({ error: reason, code: 'WORK_FAILED', message: describeRefund(to), refund: back }, 502))
  }
}

/**
 * The request body and the paying user, null without an account. `signal` aborts when the work takes too long, not when
 * the caller disconnects.
 */
type PluginCall = { body: Record<string, unknown>; user: SignedInUser | null; signal: AbortSignal }

/**
 * Work paid by the request. `run` throws AppError when it fails, which refunds the payment. `check` rejects invalid
 * bodies before payment.
 */
export type Plugin = {
  name: string
  description: string
  priceMicroUsd: number
  check(call: Omit<PluginCall, 'signal'>): void
  run(call: PluginCall): Promise<Record<string, unknown>>
}
export type Plugins = ReadonlyMap<string, Plugin>
