import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { agents } from '../registry/tables.ts'
import { createHostReader } from './ingress.ts'

/** `domain` is the host name for which a proxy needs a certificate. */
const ServedQuery = z.object({ domain: z.string().max(253) })

/**
 * Public route that confirms an agent's host name, for proxies that issue certificates on demand (Caddy's
 * `on_demand_tls`):
 * they must not request certificates for arbitrary names.
 */
export function reachWeb({ db, addresses }: { db: Db; addresses: { agentsDomain: string } }) {
  const app = new Hono<WebEnv>()
  const readHost = createHostReader(addresses.agentsDomain)
  app.get(
    '/api/served',
    endpoint({
      summary: 'Checks whether a host name is served',
      tag: 'Machines',
      responses: { 200: Done },
      errors: ['not_found'],
    }),
    validate('query', ServedQuery),
    (c) => {
      const named = readHost(c.req.valid('query').domain)
      const row = named && db.select({ id: agents.id }).from(agents).where(eq(agents.id, named.id)).get()
      if (!row) throw new AppError('not_found', 'No agent has this name')
      return c.json({ success: true })
    },
  )
  return app
}
