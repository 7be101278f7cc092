import { AppError } from '../../../core/errors.ts'
import type { Principal } from '../../../http/env.ts'
import { type DeleteDeps, deleteAgent } from '../../agents/deployments/delete.ts'
import {
  type LifecycleDeps,
  restartAgent,
  startAgent,
  stopAgent,
  updateUserAgent,
} from '../../agents/deployments/lifecycle.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { FleetChange, FleetChanged } from './schemas.ts'

export type FleetChangeDeps = LifecycleDeps & DeleteDeps

/** What a machine takes on at once. */
const AT_ONCE = 4

/** Does the same to several agents, some at a time. One that refuses stops no other. */
export async function changeFleet(
  deps: FleetChangeDeps,
  principal: Principal,
  { verb, agentIds }: FleetChange,
): Promise<FleetChanged> {
  const waiting = [...new Set(agentIds)].map((id, index) => ({ id, index }))
  const results: FleetChanged['results'] = waiting.map(({ id }) => ({ id, error: null }))
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      results[next.index] = { id: next.id, error: await changeOne(deps, principal, verb, next.id) }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { results }
}

/** @returns why it was not done, in words for its owner; null when it was. */
async function changeOne(
  deps: FleetChangeDeps,
  principal: Principal,
  verb: FleetChange['verb'],
  id: string,
): Promise<string | null> {
  try {
    await verbs[verb](deps, principal, id)
    return null
  } catch (error) {
    if (error instanceof AppError) return error.message
    throw error
  }
}

type Carry = (deps: FleetChangeDeps, principal: Principal, id: string) => Promise<unknown>

const verbs: Record<FleetChange['verb'], Carry> = {
  start: startAgent,
  stop: stopAgent,
  restart: restartAgent,
  update: (deps, principal, id) => updateUserAgent(deps, principal, id, undefined),
  // Deleting what is not there does nothing; somebody who chose it wants to know.
  delete: (deps, principal, id) => deleteAgent(deps, principal, getAgent(deps.db, principal, id).id),
}
