import { eq } from 'drizzle-orm'
import type { AgentEndpoint } from '../../../adapters/gateways/endpoint.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { memoize } from '../../../db/changes/memo.ts'
import type { Db } from '../../../db/open.ts'
import { parameter } from '../../../db/parameters.ts'
import { findEndpoint } from '../registry/endpoint.ts'
import { type AgentRow, agents } from '../registry/tables.ts'

/** `unknown` is an engine that cannot be asked now: the agent itself may well answer. */
const REACHABLE: ReadonlySet<AgentRow['status']> = new Set(['running', 'sleeping', 'unknown'])

/**
 * Where the gateway of an agent listens, for whoever asks: the agent itself checks their token.
 * @throws AppError `not_found`, `unavailable` unless it runs or sleeps.
 */
export type FindGateway = (agentId: string) => AgentEndpoint & { isAsleep: boolean }

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
