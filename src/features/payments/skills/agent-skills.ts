import { and, asc, eq } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { planInForce } from '../../accounts/plans/plans.ts'
import { agents } from '../../agents/registry/tables.ts'
import { BUILT_IN } from './built-in.ts'
import { toOffered } from './marketplace.ts'
import type { SkillText } from './skill-text.ts'
import { installedSkills, ownSkills } from './tables.ts'

type Deps = { db: Db; findUser: (id: string) => SignedInUser | null }

/**
 * The enabled skills of an agent, as its owner's plan allows: of more than that the ones that the owner has had longest.
 * A skill that is gone is left out.
 */
export function listAgentSkills({ db, findUser }: Deps, agentId: string): SkillText[] {
  const agent = db.select({ ownerId: agents.ownerId }).from(agents).where(eq(agents.id, agentId)).get()
  const owner = agent?.ownerId ? findUser(agent.ownerId) : null
  if (!owner) return []
  const isEnabled = and(eq(installedSkills.userId, owner.id), eq(installedSkills.enabled, true))
  const rows = db.select().from(installedSkills).where(isEnabled).orderBy(asc(installedSkills.id)).all()
  const limit = planInForce(db, owner).skills ?? rows.length
  const allowed = new Set([...new Set(rows.map(({ skillId }) => skillId))].slice(0, limit))
  return rows
    .filter((row) => row.agentId === agentId && allowed.has(row.skillId))
    .flatMap(({ skillId }) => findText(db, owner.id, skillId) ?? [])
}

function findText(db: Db, userId: string, name: string): SkillText | null {
  const builtIn = BUILT_IN.get(name)
  if (builtIn) return builtIn
  const isOwn = and(eq(ownSkills.userId, userId), eq(ownSkills.name, name))
  const row = db.select().from(ownSkills).where(isOwn).get()
  return row ? toOffered(row).text : null
}
