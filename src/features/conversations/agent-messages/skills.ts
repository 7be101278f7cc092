import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { enableSkill, installSkill } from '../../payments/skills/install.ts'
import { listMarketplace } from '../../payments/skills/marketplace.ts'
import { findAddressee } from '../chat/send.ts'

/**
 * What an agent can be given, the user's own skills among it. `enabled` is what the agent loads; without `agentId`, what any
 * agent of the user loads. @throws AppError `not_found` for somebody else's agent.
 */
export function listSkills(db: Db, user: SignedInUser, agentId: string | undefined) {
  if (agentId !== undefined) getAgent(db, { kind: 'user', user }, agentId)
  const { skills, installed } = listMarketplace(db, user, { agentId })
  const enabled = new Set(installed?.flatMap(({ skillId, enabled }) => (enabled ? [skillId] : [])))
  return skills.map(({ id, name, description }) => ({ id, name, description, enabled: enabled.has(id) }))
}

/**
 * Gives an agent a skill, or turns it off; without `agentId` the one that is talked to.
 * @throws AppError `not_found` for an agent or a skill that is not theirs, and as `installSkill`.
 */
export async function chooseSkill(
  deps: { db: Db; clock: Clock },
  user: SignedInUser,
  { skillId, enabled, agentId }: { skillId: string; enabled: boolean; agentId?: string | undefined },
): Promise<void> {
  const agent = findAddressee(deps.db, user, agentId)
  const request = { skillId, agentId: agent.id }
  if (enabled) await installSkill(deps, user, request)
  else await enableSkill(deps, user, { ...request, enabled })
}
