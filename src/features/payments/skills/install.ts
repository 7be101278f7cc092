import { and, eq, sql } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newOrderedId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { requireSkillQuota } from './limit.ts'
import { getOffered } from './marketplace.ts'
import type { EnableRequest, InstallRequest } from './schemas.ts'
import { type InstalledSkillRow, installedSkills, skillDownloads, skillFigures } from './tables.ts'

export type InstallDeps = { db: Db; clock: Clock }

/**
 * Gives one of the user's agents a skill, enabled. Installing it again changes nothing.
 * @throws AppError `not_found` for an agent or a skill that is not theirs, `limited` and `payment_required` by the plan.
 */
export async function installSkill(
  { db, clock }: InstallDeps,
  user: SignedInUser,
  { skillId, agentId }: InstallRequest,
): Promise<{ row: InstalledSkillRow; agent: AgentRow }> {
  return write(db, (tx) => {
    const agent = getAgent(tx, { kind: 'user', user }, agentId)
    const { source } = getOffered(tx, user.id, skillId)
    const existing = findInstalled(tx, agent.id, skillId)
    if (existing?.enabled) return { row: existing, agent }
    requireSkillQuota(tx, user, skillId)
    const row = insertEnabled(tx, { userId: user.id, agentId: agent.id, skillId, createdAt: clock.now() })
    if (source === 'built-in') countDownload(tx, user.id, skillId)
    return { row, agent }
  })
}

type NewInstallation = Pick<InstalledSkillRow, 'userId' | 'agentId' | 'skillId' | 'createdAt'>

/** One that is there already, turned off, is turned on. */
function insertEnabled(tx: Tx, installation: NewInstallation): InstalledSkillRow {
  const target = [installedSkills.agentId, installedSkills.skillId]
  const row = { ...installation, id: newOrderedId('skl'), enabled: true }
  return tx
    .insert(installedSkills)
    .values(row)
    .onConflictDoUpdate({ target, set: { enabled: true } })
    .returning()
    .get()
}

/**
 * Turns a skill of an agent on or off.
 * @throws AppError `not_found` when the agent is not theirs or does not have it, and as `installSkill` when it is turned on.
 */
export async function enableSkill(
  { db }: InstallDeps,
  user: SignedInUser,
  { skillId, agentId, enabled }: EnableRequest,
): Promise<InstalledSkillRow> {
  return write(db, (tx) => {
    const agent = getAgent(tx, { kind: 'user', user }, agentId)
    const existing = findInstalled(tx, agent.id, skillId)
    if (!existing) throw new AppError('not_found', 'Skill is not installed')
    if (enabled && !existing.enabled) requireSkillQuota(tx, user, skillId)
    return tx.update(installedSkills).set({ enabled }).where(eq(installedSkills.id, existing.id)).returning().get()
  })
}

/** Takes a skill from an agent; nothing happens when it is not there. */
export async function removeSkill({ db }: InstallDeps, user: SignedInUser, request: InstallRequest): Promise<void> {
  const isThis = and(
    eq(installedSkills.userId, user.id),
    eq(installedSkills.agentId, request.agentId),
    eq(installedSkills.skillId, request.skillId),
  )
  await write(db, (tx) => tx.delete(installedSkills).where(isThis).run())
}

function findInstalled(tx: Tx, agentId: string, skillId: string): InstalledSkillRow | undefined {
  const isThis = and(eq(installedSkills.agentId, agentId), eq(installedSkills.skillId, skillId))
  return tx.select().from(installedSkills).where(isThis).get()
}

/** Once for each user, however often they install it and on however many agents. */
function countDownload(tx: Tx, userId: string, skillId: string): void {
  if (tx.insert(skillDownloads).values({ skillId, userId }).onConflictDoNothing().run().changes === 0) return
  tx.insert(skillFigures)
    .values({ skillId, downloads: 1 })
    .onConflictDoUpdate({ target: skillFigures.skillId, set: { downloads: sql`${skillFigures.downloads} + 1` } })
    .run()
}

/** Whoever set them up is the owner of the account no more: what they tell its agents is done no longer. */
export function switchOffSkills(tx: Tx, userId: string): void {
  tx.update(installedSkills).set({ enabled: false }).where(eq(installedSkills.userId, userId)).run()
}
