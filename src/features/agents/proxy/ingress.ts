import { eq } from 'drizzle-orm'
import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import { orAborted } from '../../../core/concurrency/or-aborted.ts'
import { AppError } from '../../../core/errors.ts'
import { isSameSecret, type Sealer } from '../../../core/secrets.ts'
import { memoize } from '../../../db/changes/memo.ts'
import type { Db } from '../../../db/open.ts'
import { parameter } from '../../../db/parameters.ts'
import { readBearer } from '../../../http/internal-key.ts'
import { findEndpoint } from '../registry/address.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import type { AgentActivity } from '../sleep/sleep.ts'
import type { Wake } from '../sleep/wake.ts'

export type AdmitDeps = { activity: AgentActivity; wake: Wake; findGateway: FindGateway }

/** Where the agent listens, and what lets it sleep again when the request is over. */
type Admission = { gateway: ReturnType<FindGateway>; release: () => void }

/**
 * Finds the agent that a request is for. Who shows its token keeps it awake, and wakes it when it sleeps: strangers do
 * neither, or whoever knows its address could keep it running.
 * @throws AppError as `FindGateway` and `Wake`, `unauthenticated` for a stranger at a sleeping agent.
 */
export async function admit(deps: AdmitDeps, id: string, request: Request): Promise<Admission> {
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
    // It may listen elsewhere than before, and it may have been stopped.
    return { gateway: deps.findGateway(id), release }
  } catch (error) {
    release()
    throw error
  }
}

/** `unknown` is an engine that cannot be asked now: the agent itself may well answer. */
const REACHABLE: ReadonlySet<AgentRow['status']> = new Set(['running', 'sleeping', 'unknown'])

/**
 * Where the gateway of an agent listens, for whoever asks: the agent itself checks their token.
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
    return { endpoint: endpoint && { ...endpoint, isAsleep: agent.status === 'sleeping' } }
  })
  return (id) => {
    const found = find(id)
    if (!found) throw new AppError('not_found', 'Agent not found')
    if (!found.endpoint) throw new AppError('unavailable', 'Agent is not running')
    return found.endpoint
  }
}

/** An agent's id as every runtime takes it: a DNS label. */
const AGENT_ID = /^[a-z0-9][a-z0-9-]{0,40}$/

/**
 * Reads the Host header: null when it names no host below `agentsDomain`, otherwise the agent it names, or an empty
 * id when none can be called that.
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
