import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint, type Responses } from '../../../http/endpoint.ts'
import type { OnceEnv, WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import { getWallet } from '../wallets/create.ts'
import { toOwner } from '../wallets/state.ts'
import { managedWallets, type WalletRow } from '../wallets/tables.ts'
import { callPaying, type PaidCallDeps, toCallAnswer } from './call.ts'
import { OwnPaidCall, PaidCall, PaidCallResult } from './schemas.ts'

/** Paid requests from the user's own wallet or an agent's. */
export function paidCallsWeb(deps: PaidCallDeps & { guards: Guards; idempotency: Idempotency }) {
  const app = new Hono<WebEnv & OnceEnv>()

  app.post(
    '/api/wallet/fetch',
    endpoint({
      summary: 'Pays for and calls a paid service',
      tag: 'Wallets',
      responses: { 200: PaidCallResult, 202: PaidCallResult },
      errors: ['payment_required', 'not_found', 'conflict', 'upstream_failed', 'upstream_timeout', 'unavailable'],
      scope: 'payments',
    }),
    deps.guards.signedIn,
    validate('json', OwnPaidCall),
    deps.idempotency.forUser,
    async (c) => {
      const { agentId, ...call } = c.req.valid('json')
      const wallet = getWallet(deps.db, toOwner(deps.db, c.var.user, agentId))
      const outcome = await callPaying(deps, wallet, call, c.var.once)
      return c.json(toCallAnswer(deps, outcome), outcome.answer ? 200 : 202)
    },
  )

  return app
}

const callAnswers: Responses = {
  responses: { 200: PaidCallResult, 202: PaidCallResult },
  errors: ['payment_required', 'not_found', 'conflict', 'upstream_timeout', 'unavailable'],
}

/** Paid requests of an agent, with its own token and wallet. */
export function paidCallsBackend(deps: PaidCallDeps & { callers: CallerFinder }) {
  const app = new Hono<AgentCallerEnv>()

  app.post(
    '/v1/paid-fetch',
    endpoint({ summary: "Calls a paid service with an agent's wallet", tag: 'Wallets', ...callAnswers }),
    requireAgent(deps.callers),
    validate('json', PaidCall),
    async (c) => {
      const wallet = getAgentWallet(deps.db, c.var.agentId)
      const outcome = await callPaying(deps, wallet, c.req.valid('json'), { made: null, note: () => undefined })
      return c.json(toCallAnswer(deps, outcome), outcome.answer ? 200 : 202)
    },
  )

  return app
}

function getAgentWallet(db: Db, agentId: string): WalletRow {
  const wallet = db.select().from(managedWallets).where(eq(managedWallets.agentId, agentId)).get()
  if (!wallet) throw new AppError('not_found', 'This agent has no wallet')
  return wallet
}
