import { type Context, Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint, type Responses } from '../../../http/endpoint.ts'
import type { OnceEnv, WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import type { TokenChains } from './balance.ts'
import { createWallet, findWallet, getWallet, listWallets } from './create.ts'
import { approvePayment, denyPayment, resolvePayment } from './decide.ts'
import { requireSucceeded, sendFromWallet, type TransferOrderDeps } from './order.ts'
import { getOwnPayment, listPayments } from './payments.ts'
import { changePolicy } from './policy.ts'
import {
  CdpRequest,
  CdpSupport,
  CdpWallet,
  CreatedWallet,
  CreateWalletRequest,
  OfAgentQuery,
  OnePayment,
  OneWallet,
  PaymentList,
  PaymentsQuery,
  PolicyChange,
  Resolution,
  TransferRequest,
  WalletAction,
  WalletActionResult,
  WalletAddress,
  WalletCreation,
  WalletList,
  WalletOrBalances,
  WalletQuery,
} from './schemas.ts'
import { describeAddress, describeOwnAddress, readWalletState, toOwner, toPayment, toWallet } from './state.ts'
import { advanceTransfer } from './transfer.ts'

const SEED_REFUSED = 'Seed export is disabled for security. Contact support if you need your private key.'
const KEPT_WARNING =
  'The key of this wallet is sealed on the server and never shown. The operator can export it on the command line.'

const showAnswers: Responses = {
  responses: { 200: WalletOrBalances },
  errors: ['unauthenticated', 'not_found', 'internal', 'unavailable'],
}
const actionAnswers: Responses = { responses: { 200: WalletActionResult }, errors: ['not_found'] }
const addressAnswers: Responses = { responses: { 200: WalletAddress }, errors: ['unauthenticated'] }
const creationAnswers: Responses = { responses: { 200: WalletCreation }, errors: ['not_found'] }
const createAnswers: Responses = { responses: { 200: CreatedWallet }, errors: ['not_found'] }
const cdpSupportAnswers: Responses = { responses: { 200: CdpSupport } }
const cdpWalletAnswers: Responses = { responses: { 200: CdpWallet }, errors: ['not_found'] }

/** Managed wallets of users and agents. Keys never travel over HTTP. */
export function walletsWeb(
  deps: Base & { tokenChains: TokenChains; guards: Guards; requestsPerMinute: { agents: number } },
) {
  const app = new Hono<WebEnv>()
  const { signedIn, findUser } = deps.guards
  const { network } = deps.tokenChains.USDC.terms

  app.use(
    '/api/wallet/*',
    limitRate(() => deps.requestsPerMinute.agents, 'Too many requests, please slow down.'),
  )

  app.get(
    '/api/wallet',
    endpoint({ summary: "Returns your wallet, or an address's balance", tag: 'Wallets', ...showAnswers }),
    validate('query', WalletQuery),
    async (c) => {
      const { address, agentId } = c.req.valid('query')
      if (address !== undefined) return c.json(await describeAddress(deps, address))
      const user = await findUser(c)
      if (!user) throw new AppError('unauthenticated', 'Unauthorized')
      return c.json(await readWalletState(deps, toOwner(deps.db, user, agentId)))
    },
  )

  app.post(
    '/api/wallet',
    endpoint({
      summary: 'Creates or returns a wallet, by action',
      tag: 'Wallets',
      ...actionAnswers,
      scope: 'payments',
    }),
    signedIn,
    validate('json', WalletAction),
    async (c) => {
      const { action, agentId } = c.req.valid('json')
      const owner = toOwner(deps.db, c.var.user, agentId)
      if (action === 'export_seed') throw new AppError('forbidden', SEED_REFUSED)
      if (action === 'create') {
        const { wallet, isNew } = await createWallet(deps, owner)
        if (!isNew) throw new AppError('invalid', 'Wallet already exists', { address: wallet.address })
        return c.json({ address: wallet.address, network, message: 'Wallet created successfully' })
      }
      const wallet = findWallet(deps.db, owner)
      if (!wallet) throw new AppError('not_found', 'No wallet found')
      const { address, createdAt } = wallet
      return c.json({ address, network, createdAt: createdAt.toISOString(), warning: KEPT_WARNING })
    },
  )

  const showAddress = async (c: Context<WebEnv>) => {
    const user = await findUser(c)
    if (!user) throw new AppError('unauthenticated', 'Unauthorized', { authenticated: false, needsAuth: true })
    return c.json(describeOwnAddress(deps, user))
  }
  app.get(
    '/api/wallet/address',
    endpoint({ summary: 'Returns the address of your wallet', tag: 'Wallets', ...addressAnswers }),
    showAddress,
  )
  app.post(
    '/api/wallet/address',
    endpoint({ summary: 'Returns the address of your wallet', tag: 'Wallets', ...addressAnswers, scope: 'payments' }),
    showAddress,
  )

  app.route('/', createWalletWeb(deps))
  return app
}

/** Routes of existing clients. */
function createWalletWeb(deps: Base & { tokenChains: TokenChains; guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const { network } = deps.tokenChains.USDC.terms
  const networks = [...new Set(Object.values(deps.tokenChains).map(({ terms }) => terms.network))]

  app.get(
    '/api/wallet/create',
    endpoint({ summary: 'Returns whether you have a wallet', tag: 'Wallets', ...creationAnswers }),
    signedIn,
    validate('query', OfAgentQuery),
    (c) => {
      const wallet = findWallet(deps.db, toOwner(deps.db, c.var.user, c.req.valid('query').agentId))
      return c.json({
        hasWallet: wallet !== null,
        walletAddress: wallet?.address ?? null,
        networks,
        required: ['email'],
      })
    },
  )
  app.post(
    '/api/wallet/create',
    endpoint({ summary: 'Creates a wallet', tag: 'Wallets', ...createAnswers, scope: 'payments' }),
    signedIn,
    validate('json', CreateWalletRequest),
    async (c) => {
      const { email, agentId } = c.req.valid('json')
      if (email.toLowerCase() !== c.var.user.email) throw new AppError('invalid', 'Email must be that of your account')
      const { wallet } = await createWallet(deps, toOwner(deps.db, c.var.user, agentId))
      return c.json({ success: true, walletAddress: wallet.address, walletId: wallet.id, networks })
    },
  )

  app.get(
    '/api/wallet/cdp',
    endpoint({ summary: 'Lists the chains of wallets', tag: 'Wallets', ...cdpSupportAnswers }),
    (c) => c.json({ status: 'ok', type: 'evm_wallet', supportedChains: networks }),
  )
  app.post(
    '/api/wallet/cdp',
    endpoint({ summary: 'Creates a wallet', tag: 'Wallets', ...cdpWalletAnswers, scope: 'payments' }),
    signedIn,
    validateAnyBody(CdpRequest),
    async (c) => {
      const { privateKey, agentId } = c.req.valid('json')
      if (privateKey !== undefined) {
        throw new AppError('invalid', 'Private keys are not accepted over HTTP: take this one as known to others')
      }
      const { wallet } = await createWallet(deps, toOwner(deps.db, c.var.user, agentId))
      return c.json({ success: true, address: wallet.address, network })
    },
  )

  return app
}

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
 * Payments and policies of wallets. A key or an agent can order payments; policies need the owner's session, so no key
 * can raise its own limit.
 */
export function paymentsWeb(deps: TransferOrderDeps & { guards: Guards; idempotency: Idempotency }) {
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
