import { type Context, Hono } from 'hono'
import { Done, endpoint, type RouteOptions } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import {
  changeOwnPlan,
  createOwnPlan,
  deleteOwnPlan,
  listPlansForAdmin,
  type OwnPlanDeps,
  toAdminPlan,
} from './own-plans.ts'
import { AdminPlanList, ChangePlanRequest, CreatePlanRequest, OnePlan } from './schemas.ts'

/** Plan routes of the admin pages. */
export function plansWeb(deps: OwnPlanDeps & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { admin } = deps.guards
  const onFullDisk: RouteOptions = { worksOnFullDisk: true }

  app.get(
    '/api/admin/plans',
    endpoint({
      summary: 'Lists all plans with the number of accounts',
      tag: 'Invites and plans',
      responses: { 200: AdminPlanList },
    }),
    admin,
    (c) => c.json({ plans: listPlansForAdmin(deps.db), defaultPlan: deps.plans.byDefault }),
  )

  app.post(
    '/api/admin/plans',
    endpoint({
      summary: 'Creates a plan with its limits',
      tag: 'Invites and plans',
      responses: { 201: OnePlan },
      errors: ['conflict', 'limited'],
    }),
    admin,
    validate('json', CreatePlanRequest),
    async (c) => c.json({ plan: toAdminPlan(await createOwnPlan(deps, actorOf(c), c.req.valid('json'))) }, 201),
  )

  app.put(
    '/api/admin/plans/:name',
    endpoint({
      summary: 'Replaces the limits of a plan',
      tag: 'Invites and plans',
      responses: { 200: OnePlan },
      errors: ['not_found'],
      ...onFullDisk,
    }),
    admin,
    validate('json', ChangePlanRequest),
    async (c) =>
      c.json({ plan: toAdminPlan(await changeOwnPlan(deps, actorOf(c), c.req.param('name'), c.req.valid('json'))) }),
  )

  app.delete(
    '/api/admin/plans/:name',
    endpoint({
      summary: 'Deletes a plan that no account has',
      tag: 'Invites and plans',
      responses: { 200: Done },
      errors: ['not_found', 'conflict'],
      ...onFullDisk,
    }),
    admin,
    async (c) => {
      await deleteOwnPlan(deps, actorOf(c), c.req.param('name'))
      return c.json({ success: true })
    },
  )

  return app
}

function actorOf(c: Context<WebEnv>) {
  return { id: c.var.user.id, address: c.env.address }
}
