import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint, type Responses } from '../../../http/endpoint.ts'
import { validate } from '../../../http/validate.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import { managedWallets, type WalletRow } from '../wallets/tables.ts'
import { callPaying, type PaidCallDeps, toCallAnswer } from './call.ts'
import { PaidCall, PaidCallResult } from './schemas.ts'

export type PaidCallsBackendDeps = PaidCallDeps & { callers: CallerFinder }

const callAnswers: Responses = {
  responses: { 200: PaidCallResult, 202: PaidCallResult },
  errors: ['payment_required', 'not_found', 'conflict', 'upstream_timeout', 'unavailable'],
}

/** Paid requests of an agent itself, with its own token and from its own wallet. */
export function paidCallsBackend(deps: PaidCallsBackendDeps) {
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
