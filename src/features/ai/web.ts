import { Hono } from 'hono'
import type { WebEnv } from '../../http/env.ts'
import type { Guards } from '../../http/session.ts'
import { findPlan, PLANS } from '../plans/plans.ts'
import type { Catalogue } from './catalogue.ts'
import type { ListedModel } from './schemas.ts'

/** The models that can be asked now, for the dashboard; `defaultModel` is what the caller's plan would be given. */
export function aiWeb(deps: { catalogue: Catalogue; guards: Guards }) {
  const app = new Hono<WebEnv>()
  app.get('/api/models', async (c) => {
    const user = await deps.guards.findUser(c)
    const plan = user?.isAdmin ? PLANS.network : (findPlan(user?.plan) ?? PLANS.solo)
    const models = deps.catalogue.list().map(
      (model): ListedModel => ({
        id: model.id,
        name: model.name,
        provider: model.provider.id,
        contextLength: model.contextLength,
        pricing: model.price && {
          prompt: model.price.inputUsdPerMillion / 1_000_000,
          completion: model.price.outputUsdPerMillion / 1_000_000,
        },
      }),
    )
    return c.json({ models, defaultModel: deps.catalogue.findDefault(plan)?.id ?? null })
  })
  return app
}
