import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findAgent, listAgents } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'

/**
 * The instance that `name` stands for: an agent of the user's, or their own id, which is their newest agent that runs or sleeps,
 * else their newest one.
 * @throws AppError `not_found` when there is none, and for what belongs to somebody else.
 */
export function getInstance(db: Db, user: SignedInUser, name: string): AgentRow {
  const principal = { kind: 'user', user } as const
  const found = name === user.id ? newestOf(listAgents(db, principal)) : findAgent(db, principal, name)
  if (!found) throw new AppError('not_found', 'No instance found. Please deploy first.')
  return found
}

function newestOf(agents: AgentRow[]): AgentRow | undefined {
  return agents.find(({ status }) => status === 'running' || status === 'sleeping') ?? agents[0]
}
