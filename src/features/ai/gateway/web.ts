import { type Context, Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { readBearer } from '../../../http/internal-key.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { VerifyKey } from '../../accounts/keys/verify.ts'
import { NO_PLAN, PLANS, planInForce } from '../../accounts/plans/plans.ts'
import type { CatalogueModel } from '../catalogue/catalogue.ts'
import type { UsageRecorder } from '../usage/recorder.ts'
import { MonthQuery } from '../usage/schemas.ts'
import { answerChat, chatAnswers } from './answers.ts'
import type { CachedDeps } from './cached-completions.ts'
import type { CallerFinder } from './callers.ts'
import { type ModelListDeps, modelListRoutes } from './model-list-routes.ts'
import { getKeyReport, getMyUsage, type MyUsageDeps } from './my-usage.ts'
import { findDefaultFor, listForUser } from './routing.ts'
import { ChatRequest, KeyReport, type ListedModel, ModelList, MyUsage } from './schemas.ts'

/** Models, chat and usage for signed-in users. */
export function aiWeb(
  deps: MyUsageDeps &
    Omit<ModelListDeps, 'listModels'> &
    CachedDeps & {
      callers: Pick<CallerFinder, 'callerOfUser'>
      guards: Guards
      usage: Pick<UsageRecorder, 'flush'>
      verifyKey: VerifyKey
      requestsPerMinute: { ai: number }
    },
) {
  const app = new Hono<WebEnv>()

  app.use(
    '/api/ai/*',
    limitRate(() => deps.requestsPerMinute.ai, 'AI rate limit exceeded.'),
  )
  const listModels = async (c: Context) => {
    const user = await deps.guards.findSession(c)
    return user ? listForUser(deps, user.id) : deps.catalogue.list()
  }
  app.route('/', modelListRoutes({ ...deps, listModels }))

  // Session only: keys have limits of their own, which the backend API enforces.
  app.post(
    '/api/ai/chat',
    endpoint({
      summary: 'Creates a completion in the native format',
      tag: 'Models',
      ...chatAnswers,
      worksOnFullDisk: true,
    }),
    deps.guards.withSession,
    validate('json', ChatRequest),
    (c) => answerChat(c, deps, deps.callers.callerOfUser(c.var.user), c.req.valid('json')),
  )

  app.get(
    '/api/me/usage',
    endpoint({
      summary: "Returns the caller's usage this month",
      tag: 'Usage',
      responses: { 200: MyUsage },
      scope: 'any',
    }),
    deps.guards.signedIn,
    async (c) => {
      await deps.usage.flush()
      const { user } = c.var
      const bearer = readBearer(c.req.header('authorization'))
      const key = bearer ? (deps.verifyKey(bearer, c.env)?.key ?? null) : null
      return c.json(getMyUsage(deps, { userId: user.id, agentId: null, plan: planInForce(deps.db, user), key }))
    },
  )

  app.get(
    '/api/keys/:id/usage',
    endpoint({
      summary: 'Returns the usage and limits of a key',
      tag: 'Usage',
      responses: { 200: KeyReport },
      errors: ['not_found'],
    }),
    deps.guards.withSession,
    validate('query', MonthQuery),
    async (c) => {
      await deps.usage.flush()
      return c.json(getKeyReport(deps, c.var.user.id, c.req.param('id'), c.req.valid('query').days))
    },
  )

  app.get(
    '/api/models',
    endpoint({
      summary: 'Lists the models that agents can use',
      tag: 'Models',
      responses: { 200: ModelList },
      scope: 'any',
    }),
    async (c) => {
      const user = await deps.guards.findUser(c)
      // `defaultModel` is what the caller's plan would be given, or the smallest one to those who have none; where nothing
      // is configured, what their own key serves.
      const own = user ? planInForce(deps.db, user) : NO_PLAN
      const plan = own === NO_PLAN ? PLANS.solo : own
      const models = user ? listForUser(deps, user.id) : deps.catalogue.list()
      const usual = findDefaultFor(deps, plan, user?.id ?? null)
      return c.json({ models: models.map(toListedModel), defaultModel: usual?.id ?? null })
    },
  )
  return app
}

/** Prices are US dollars per token here. */
function toListedModel({ id, name, provider, contextLength, price }: CatalogueModel): ListedModel {
  const pricing = price && {
    prompt: price.inputUsdPerMillion / 1_000_000,
    completion: price.outputUsdPerMillion / 1_000_000,
  }
  return { id, name, provider: provider.id, contextLength, pricing }
}
