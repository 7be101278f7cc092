import { eq } from 'drizzle-orm'
import { Hono } from 'hono'
import { z } from 'zod'
import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import { orAborted } from '../../../core/concurrency/race.ts'
import { AppError } from '../../../core/errors.ts'
import { isSameSecret, type Sealer } from '../../../core/secrets.ts'
import { memoize } from '../../../db/changes.ts'
import type { Db } from '../../../db/open.ts'
import { parameter } from '../../../db/prepare-once.ts'
import { Done, endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { readBearer } from '../../../http/internal-key.ts'
import { validate } from '../../../http/validate.ts'
import { findEndpoint, findMachineProblem } from '../registry/address.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import type { AgentActivity } from '../sleep/sleep.ts'
import type { Wake } from '../sleep/wake.ts'

/** An agent's gateway; `release` lets the agent sleep again after the request. */
type Admission = { gateway: ReturnType<FindGateway>; release: () => void }

/**
 * Finds the agent of a request. A request with the agent's token keeps it awake and wakes it; other requests do
 * neither, so that strangers cannot keep it running.
 * @throws AppError as `FindGateway` and `Wake`, `unauthenticated` for a sleeping agent without its token.
 */
export async function admit(
  deps: { activity: AgentActivity; wake: Wake; findGateway: FindGateway },
  id: string,
  request: Request,
): Promise<Admission> {
  const gateway = deps.findGateway(id)
  const token = readBearer(request.headers.get('authorization') ?? undefined)
  if (token === null || !isSameSecret(token, gateway.gatewayToken)) {
    if (gateway.isAsleep) throw new AppError('unauthenticated', 'Unauthorized')
    return { gateway, release: () => undefined }
  }
  const release = deps.activity.hold(id)
  if (!gateway.isAsleep) return { gateway, release }
  try {
    await orAborted(deps.wake(id), request.signal)
    // Waking may have changed its port, and it may have been stopped meanwhile.
    return { gateway: deps.findGateway(id), release }
  } catch (error) {
    release()
    throw error
  }
}

/** `unknown` means that the engine does not respond; the agent itself may. */
const REACHABLE: ReadonlySet<AgentRow['status']> = new Set(['running', 'sleeping', 'unknown'])

/**
 * Returns an agent's gateway. The agent itself checks the caller's token.
 * @throws AppError `not_found`, `unavailable` unless it runs or sleeps.
 */
type FindGateway = (agentId: string) => AgentEndpoint & { isAsleep: boolean }

export function createGatewayFinder({ db, sealer }: { db: Db; sealer: Sealer }): FindGateway {
  const select = db
    .select()
    .from(agents)
    .where(eq(agents.id, parameter('id')))
    .prepare()
  const find = memoize(db, (id) => {
    const agent = select.get({ id })
    if (!agent) return null
    const endpoint = REACHABLE.has(agent.status) ? findEndpoint(sealer, agent) : null
    const problem = findMachineProblem(agent)
    return { problem, endpoint: endpoint && { ...endpoint, isAsleep: agent.status === 'sleeping' } }
  })
  return (id) => {
    const found = find(id)
    if (!found) throw new AppError('not_found', 'Agent not found')
    if (found.problem) throw found.problem
    if (!found.endpoint) throw new AppError('unavailable', 'Agent is not running')
    return found.endpoint
  }
}

/** An agent's id, a DNS label in every runtime. */
const AGENT_ID = /^[a-z0-9][a-z0-9-]{0,40}$/

/**
 * Creates a parser of the Host header. It returns null for a host outside `agentsDomain`, otherwise the agent's id,
 * empty for an invalid one.
 */
export function createHostReader(agentsDomain: string): (host: string | null) => { id: string; name: string } | null {
  const suffix = `.${agentsDomain}`
  return (host) => {
    if (!host || host.length < suffix.length) return null
    const name = host.toLowerCase().replace(/\.?(?::\d+)?$/, '')
    if (!name.endsWith(suffix)) return null
    const id = name.slice(0, -suffix.length)
    return { id: AGENT_ID.test(id) ? id : '', name }
  }
}

/** `domain` is the host name for which a proxy needs a certificate. */
const ServedQuery = z.object({ domain: z.string().max(253) })

/**
 * Public route that confirms an agent's host name, for proxies that issue certificates on demand (Caddy's
 * `on_demand_tls`): they must not request certificates for arbitrary names.
 */
export function agentProxyRoutes({ db, addresses }: { db: Db; addresses: { agentsDomain: string } }) {
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
