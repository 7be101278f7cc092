import { Hono } from 'hono'
import { endpoint, type Responses } from '../../../http/endpoint.ts'
import type { OnceEnv, WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { getWallet, listWallets } from './create.ts'
import { approvePayment, denyPayment, resolvePayment } from './decide.ts'
import { requireSucceeded, sendFromWallet, type TransferOrderDeps } from './order.ts'
import { getOwnPayment, listPayments } from './payments.ts'
import { changePolicy } from './policy.ts'
import {
  OnePayment,
  OneWallet,
  PaymentList,
  PaymentsQuery,
  PolicyChange,
  Resolution,
  TransferRequest,
  WalletList,
} from './schemas.ts'
import { toOwner, toPayment, toWallet } from './state.ts'
import { advanceTransfer } from './transfer.ts'

export type PaymentsWebDeps = TransferOrderDeps & { guards: Guards; idempotency: Idempotency }

const listWalletsAnswers: Responses = { responses: { 200: WalletList } }
const changePolicyAnswers: Responses = { responses: { 200: OneWallet }, errors: ['not_found'] }
const sendAnswers: Responses = {
  responses: { 200: OnePayment, 202: OnePayment },
  errors: ['payment_required', 'not_found', 'conflict', 'upstream_timeout', 'unavailable'],
}
const listPaymentsAnswers: Responses = { responses: { 200: PaymentList }, errors: ['not_found'] }
const showPaymentAnswers: Responses = { responses: { 200: OnePayment }, errors: ['not_found'] }
const approveAnswers: Responses = {
  responses: { 200: OnePayment },
  errors: ['payment_required', 'not_found', 'conflict', 'unavailable'],
}
const denyAnswers: Responses = { responses: { 200: OnePayment }, errors: ['payment_required', 'not_found', 'conflict'] }

/**
 * What wallets pay, and what they may. A key or an agent can order a payment; what a wallet may pay is for the session of
 * its owner alone, so that nobody allows themselves more.
 */
export function paymentsWeb(deps: PaymentsWebDeps) {
  const app = new Hono<WebEnv & OnceEnv>()
  const { signedIn, withSession } = deps.guards

  app.get(
    '/api/wallet/list',
    endpoint({ summary: 'Lists your wallets with their limits', tag: 'Wallets', ...listWalletsAnswers }),
    signedIn,
    (c) => {
      const now = deps.clock.now()
      return c.json({ wallets: listWallets(deps.db, c.var.user.id).map((row) => toWallet(deps.db, row, now)) })
    },
  )

  app.patch(
    '/api/wallet/policy',
    endpoint({ summary: 'Changes the spending policy of a wallet', tag: 'Wallets', ...changePolicyAnswers }),
    withSession,
    validate('json', PolicyChange),
    async (c) => {
      const change = c.req.valid('json')
      const wallet = await changePolicy(deps, toOwner(deps.db, c.var.user, change.agentId), change)
      return c.json({ wallet: toWallet(deps.db, wallet, deps.clock.now()) })
    },
  )

  app.post(
    '/api/wallet/send',
    endpoint({ summary: 'Sends money from a wallet', tag: 'Wallets', ...sendAnswers, scope: 'payments' }),
    signedIn,
    validate('json', TransferRequest),
    deps.idempotency.forUser,
    async (c) => {
      const request = c.req.valid('json')
      const payment = await sendFromWallet(deps, toOwner(deps.db, c.var.user, request.agentId), request, c.var.once)
      return c.json(
        { payment: toPayment(deps.tokenChains, requireSucceeded(payment)) },
        payment.status === 'succeeded' ? 200 : 202,
      )
    },
  )

  app.get(
    '/api/wallet/payments',
    endpoint({ summary: 'Lists payments of your wallets', tag: 'Wallets', ...listPaymentsAnswers }),
    signedIn,
    validate('query', PaymentsQuery),
    (c) => {
      const { limit, before, agentId } = c.req.valid('query')
      const { user } = c.var
      const walletId = agentId === undefined ? undefined : getWallet(deps.db, toOwner(deps.db, user, agentId)).id
      const { rows, last } = listPayments(deps.db, user.id, { limit, before, walletId })
      return c.json({ payments: rows.map((row) => toPayment(deps.tokenChains, row)), next: last?.id ?? null })
    },
  )

  app.get(
    '/api/wallet/payments/:id',
    endpoint({ summary: 'Returns a payment', tag: 'Wallets', ...showPaymentAnswers }),
    signedIn,
    (c) => c.json({ payment: toPayment(deps.tokenChains, getOwnPayment(deps.db, c.var.user.id, c.req.param('id'))) }),
  )

  app.post(
    '/api/wallet/payments/:id/approve',
    endpoint({ summary: 'Approves a pending payment', tag: 'Wallets', ...approveAnswers }),
    withSession,
    async (c) => {
      const payment = await approvePayment(deps, c.var.user.id, c.req.param('id'))
      const taken = payment.kind === 'transfer' ? await advanceTransfer(deps, payment.id) : payment
      return c.json({ payment: toPayment(deps.tokenChains, taken) })
    },
  )

  app.post(
    '/api/wallet/payments/:id/deny',
    endpoint({ summary: 'Denies a pending payment', tag: 'Wallets', ...denyAnswers }),
    withSession,
    async (c) =>
      c.json({ payment: toPayment(deps.tokenChains, await denyPayment(deps, c.var.user.id, c.req.param('id'))) }),
  )

  app.post(
    '/api/wallet/payments/:id/resolve',
    endpoint({ summary: 'Resolves a payment of unknown outcome', tag: 'Wallets', ...denyAnswers }),
    withSession,
    validate('json', Resolution),
    async (c) => {
      const { status } = c.req.valid('json')
      const payment = await resolvePayment(deps, c.var.user.id, c.req.param('id'), status)
      return c.json({ payment: toPayment(deps.tokenChains, payment) })
    },
  )

  return app
}
