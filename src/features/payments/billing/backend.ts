import { Hono } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import { validate } from '../../../http/validate.ts'
import { deploySubscription } from './deploy.ts'
import { DeployedSubscription, DeploySubscriptionRequest } from './schemas.ts'

export type BillingBackendDeps = { db: Db; clock: Clock; internalKey: InternalKeyGuard }

/** Subscriptions as the operator activates them (Interface 4.15). */
export function billingBackend(deps: BillingBackendDeps) {
  const app = new Hono<BackendEnv>()
  app.post(
    '/api/subscriptions/deploy',
    endpoint({
      summary: 'Activates a plan for the operator',
      tag: 'Billing',
      responses: { 200: DeployedSubscription },
      errors: ['not_found'],
    }),
    deps.internalKey,
    validate('json', DeploySubscriptionRequest),
    async (c) => c.json(await deploySubscription(deps, c.req.valid('json'))),
  )
  return app
}
