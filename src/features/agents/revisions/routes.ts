import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { NoBody, validateAnyBody } from '../../../http/validate.ts'
import { type RestoreDeps, restoreRevision, showRevision, showRevisions } from './restore.ts'
import { RestoredRevision, RevisionDetail, RevisionList } from './schemas.ts'

const PATH = '/api/agents/:id/revisions'

/** Routes for the configuration history of an agent, shared by both APIs. */
export function revisionRoutes(deps: RestoreDeps, guard: MiddlewareHandler<BackendEnv>) {
  const app = new Hono<BackendEnv>()

  app.get(
    PATH,
    endpoint({
      summary: 'Lists the configurations an agent had',
      tag: 'Agents',
      responses: { 200: RevisionList },
      errors: ['not_found'],
    }),
    guard,
    (c) => c.json({ revisions: showRevisions(deps, c.var.principal, c.req.param('id')) }),
  )

  app.get(
    `${PATH}/:number`,
    endpoint({
      summary: 'Returns a configuration that an agent had',
      tag: 'Agents',
      responses: { 200: RevisionDetail },
      errors: ['not_found'],
    }),
    guard,
    (c) => c.json(showRevision(deps, c.var.principal, c.req.param('id'), readNumber(c))),
  )

  app.post(
    `${PATH}/:number/restore`,
    endpoint({
      summary: 'Restores a configuration of an agent',
      tag: 'Agents',
      responses: { 200: RestoredRevision },
      errors: ['not_found', 'payment_required', 'conflict', 'upstream_failed', 'unavailable'],
      scope: 'agents',
    }),
    guard,
    validateAnyBody(NoBody),
    async (c) => {
      const revision = await restoreRevision(deps, c.var.principal, c.req.param('id'), readNumber(c))
      return c.json({ success: true, revision } as const)
    },
  )

  return app
}

function readNumber(c: Context): number {
  const number = Number(c.req.param('number'))
  if (!Number.isSafeInteger(number)) throw new AppError('not_found', 'Revision not found')
  return number
}
