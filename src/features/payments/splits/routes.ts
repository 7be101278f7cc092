import { Hono, type MiddlewareHandler } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { formatMicroUsd } from '../../../core/money.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv, OnceEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import { validate } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import type { TokenChains } from '../wallets/balance.ts'
import { createAgentWallet, createSplit, readAgentBalance } from './create-split.ts'
import { getSplitDetail, listSplits } from './list-splits.ts'
import {
  AgentWallet,
  AgentWalletBalance,
  BalanceQuery,
  CreateAgentWalletRequest,
  CreateSplitRequest,
  OneSplit,
  QueuedSplit,
  SplitPage,
  SplitQuery,
} from './schemas.ts'

/** Splits, in the web and the backend API. */
export function splitsRoutes(deps: Base & { idempotency: Idempotency }, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv & OnceEnv>()

  app.get(
    '/api/underground/splits',
    endpoint({ summary: 'Lists splits', tag: 'Agent economy', responses: { 200: SplitPage } }),
    guard,
    validate('query', SplitQuery),
    (c) => c.json(listSplits(deps.db, c.var.principal, c.req.valid('query'))),
  )

  app.get(
    '/api/underground/splits/:id',
    endpoint({
      summary: 'Returns a split with its parts',
      tag: 'Agent economy',
      responses: { 200: OneSplit },
      errors: ['not_found'],
    }),
    guard,
    (c) => c.json({ split: getSplitDetail(deps.db, c.var.principal, toNumber(c.req.param('id'))) }),
  )

  app.post(
    '/api/underground/splits',
    endpoint({
      summary: 'Splits an amount among addresses',
      tag: 'Agent economy',
      responses: { 200: QueuedSplit },
      errors: ['not_found', 'conflict'],
    }),
    guard,
    validate('json', CreateSplitRequest),
    deps.idempotency.forPrincipal,
    async (c) => {
      const { once, principal } = c.var
      const id = once.made ? Number(once.made) : (await createSplit(deps, principal, c.req.valid('json'), once.note)).id
      const body: QueuedSplit = { success: true, splitId: id, status: 'queued' }
      return c.json(body)
    },
  )

  return app
}

/** Wallets of agents for other services. */
export function agentWalletsBackend(deps: Base & { tokenChains: TokenChains }, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.post(
    '/api/underground/wallets',
    endpoint({
      summary: 'Creates a wallet for an agent',
      tag: 'Agent economy',
      responses: { 201: AgentWallet },
      errors: ['not_found'],
    }),
    guard,
    validate('json', CreateAgentWalletRequest),
    async (c) => {
      const { userId, agentId } = c.req.valid('json')
      const { address } = await createAgentWallet(deps, c.var.principal, { userId, agentId })
      return c.json({ address, agentId, userId }, 201)
    },
  )

  app.get(
    '/api/underground/wallets/:address/balance',
    endpoint({
      summary: "Returns the balance of an agent's wallet",
      tag: 'Agent economy',
      responses: { 200: AgentWalletBalance },
      errors: ['not_found', 'unavailable'],
    }),
    guard,
    validate('query', BalanceQuery),
    async (c) => {
      const address = c.req.param('address')
      const { userId } = c.req.valid('query')
      const balance = await readAgentBalance(deps, c.var.principal, { userId, address })
      return c.json({ address, balance_usdc: formatMicroUsd(Number(balance), 2) })
    },
  )

  return app
}

function toNumber(id: string): number {
  if (!/^\d{1,15}$/.test(id)) throw new AppError('not_found', 'Split not found')
  return Number(id)
}
