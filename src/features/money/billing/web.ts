import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { SignedInUser, WebEnv } from '../../../http/env.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import type { Guards } from '../../../http/session.ts'
import { validate } from '../../../http/validate.ts'
import type { OwnKeys } from '../../models/own-keys/own-keys.ts'
import type { RunningSums } from '../../models/usage/running-sums.ts'
import { PLANS, planInForce } from '../../people/plans/plans.ts'
import { BillingRequest } from './schemas.ts'

export type BillingWebDeps = { clock: Clock; guards: Guards; ownKeys: OwnKeys; userSums: RunningSums }

/** Plan, use and own provider keys of the signed-in user (Interface 4.15). Cards are not configured here, and say so. */
export function billingWeb(deps: BillingWebDeps) {
  const app = new Hono<WebEnv>()
  const { withSession, signedIn } = deps.guards

  app.get('/api/billing', signedIn, (c) => {
    const { user } = c.var
    const providers = deps.ownKeys.listProviders(user.id)
    return c.json({
      plans: PLANS,
      currentPlan: user.plan,
      subscriptionStatus: user.subscriptionId === null ? 'inactive' : 'active',
      byokEnabled: providers.length > 0,
      byokProviders: providers,
      usage: toUsage(deps, user),
    })
  })

  app.post(
    '/api/billing',
    routeTraits({ worksOnFullDisk: true }),
    withSession,
    validate('json', BillingRequest),
    async (c) => {
      const { user } = c.var
      const request = c.req.valid('json')
      switch (request.action) {
        case 'enable-byok':
          await deps.ownKeys.enable(user.id, request.provider, request.apiKey)
          return c.json({
            success: true,
            message: `BYOK enabled with ${request.provider}. You'll pay ${request.provider} directly for AI usage.`,
          })
        case 'disable-byok':
          await deps.ownKeys.disable(user.id)
          return c.json({ success: true, message: 'BYOK disabled. Using platform credits.' })
        case 'get-usage':
          return c.json(toUsage(deps, user))
        case 'create-checkout':
        case 'buy-credits':
          throw new AppError('unavailable', 'Card billing is not configured', { code: 'NOT_CONFIGURED' })
      }
    },
  )

  return app
}

/** Tokens of the plan this month (UTC); null without a limit. */
function toUsage(deps: BillingWebDeps, user: SignedInUser) {
  const limit = planInForce(user).tokensPerMonth
  const { tokens: used } = deps.userSums.used(user.id)
  const now = deps.clock.now()
  return {
    monthlyTokens: limit,
    used,
    remaining: limit === null ? null : Math.max(0, limit - used),
    resetsAt: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)).toISOString(),
  }
}
