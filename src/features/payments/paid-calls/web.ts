import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { OnceEnv, WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { getWallet } from '../wallets/create.ts'
import { toOwner } from '../wallets/state.ts'
import { callPaying, type PaidCallDeps, toCallAnswer } from './call.ts'
import { OwnPaidCall, PaidCallResult } from './schemas.ts'

export type PaidCallsWebDeps = PaidCallDeps & { guards: Guards; idempotency: Idempotency }

/** Paid requests from one's own wallet, or from that of an agent of one's own. */
export function paidCallsWeb(deps: PaidCallsWebDeps) {
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
