import { type Context, Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint, type Responses } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate, validateAnyBody } from '../../../http/validate.ts'
import { type CreateWalletDeps, createWallet, findWallet } from './create.ts'
import {
  CdpRequest,
  CdpSupport,
  CdpWallet,
  CreatedWallet,
  CreateWalletRequest,
  OfAgentQuery,
  WalletAction,
  WalletActionResult,
  WalletAddress,
  WalletCreation,
  WalletOrBalances,
  WalletQuery,
} from './schemas.ts'
import { describeAddress, describeOwnAddress, readWalletState, toOwner, type WalletStateDeps } from './state.ts'

export type WalletsWebDeps = CreateWalletDeps &
  WalletStateDeps & { guards: Guards; requestsPerMinute: { agents: number } }

const SEED_REFUSED = 'Seed export is disabled for security. Contact support if you need your private key.'
const KEPT_WARNING =
  'The key of this wallet is sealed on the server and never shown. Whoever runs the server can export it on its command line.'

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

/** Wallets whose keys the platform keeps, of users and of their agents (Interface 4.15). No key goes over HTTP, either way. */
export function walletsWeb(deps: WalletsWebDeps) {
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

  const tellAddress = async (c: Context<WebEnv>) => {
    const user = await findUser(c)
    if (!user) throw new AppError('unauthenticated', 'Unauthorized', { authenticated: false, needsAuth: true })
    return c.json(describeOwnAddress(deps, user))
  }
  app.get(
    '/api/wallet/address',
    endpoint({ summary: 'Returns the address of your wallet', tag: 'Wallets', ...addressAnswers }),
    tellAddress,
  )
  app.post(
    '/api/wallet/address',
    endpoint({ summary: 'Returns the address of your wallet', tag: 'Wallets', ...addressAnswers, scope: 'payments' }),
    tellAddress,
  )

  app.route('/', createWalletWeb(deps))
  return app
}

/** Wallets as older clients make them. */
function createWalletWeb(deps: WalletsWebDeps) {
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
