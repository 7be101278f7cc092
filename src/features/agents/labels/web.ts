import { Hono } from 'hono'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { Labels, LabelsRequest } from '../management/schemas.ts'
import { setLabels } from '../management/update.ts'

/** Label routes of the web API: own agents only. */
export function labelsWeb(deps: { db: Db; guards: Pick<Guards, 'signedIn'> }) {
  const app = new Hono<WebEnv>()

  app.put(
    '/api/agents/:id/labels',
    endpoint({
      summary: 'Replaces the labels of an agent',
      tag: 'Agents',
      responses: { 200: Labels },
      errors: ['not_found'],
      scope: 'agents',
    }),
    deps.guards.signedIn,
    validate('json', LabelsRequest),
    async (c) => {
      const { labels } = c.req.valid('json')
      await setLabels(deps, { kind: 'user', user: c.var.user }, c.req.param('id'), labels)
      return c.json({ labels })
    },
  )

  return app
}
