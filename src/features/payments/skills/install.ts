import { and, eq, sql } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newOrderedId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import { getOffered, type OfferedSkill, requireSkillQuota, toOffered } from './marketplace.ts'
import type { CreateSkillRequest, EnableRequest, InstallRequest } from './schemas.ts'
import { BUILT_IN, parseSkillText } from './skill-text.ts'
import { type InstalledSkillRow, installedSkills, ownSkills, skillDownloads, skillFigures } from './tables.ts'

/**
 * Installs and enables a skill on one of the user's agents. Repeating it changes nothing.
 * @throws AppError `not_found` for other users' agents and skills, `limited` and `payment_required` by the plan.
 */
export async function installSkill(
  { db, clock }: Base,
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

/** Enables an existing, disabled installation. */
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
 * Enables or disables a skill of an agent.
 * @throws AppError `not_found` when the agent is not the user's or does not have it, and as `installSkill` when
 * enabling.
 */
export async function enableSkill(
  { db }: Base,
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

/** Uninstalls a skill from an agent; does nothing when it is not installed. */
export async function removeSkill({ db }: Base, user: SignedInUser, request: InstallRequest): Promise<void> {
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

/** Counts each user once per skill. */
function countDownload(tx: Tx, userId: string, skillId: string): void {
  if (tx.insert(skillDownloads).values({ skillId, userId }).onConflictDoNothing().run().changes === 0) return
  tx.insert(skillFigures)
    .values({ skillId, downloads: 1 })
    .onConflictDoUpdate({ target: skillFigures.skillId, set: { downloads: sql`${skillFigures.downloads} + 1` } })
    .run()
}

/** Disables all installed skills of an account with a new owner, who did not choose them. */
export function switchOffSkills(tx: Tx, userId: string): void {
  tx.update(installedSkills).set({ enabled: false }).where(eq(installedSkills.userId, userId)).run()
}

const MAX_OWN_SKILLS = 100
/** Names that are paths of the API. */
const RESERVED: ReadonlySet<string> = new Set(['create'])

/**
 * Saves a user's skill. A `SKILL.md` with a known name becomes its next version; a skill given in parts does not
 * replace one.
 * @throws AppError `invalid` for a malformed file, `conflict` for a taken name, `limited` at 100 skills.
 */
export async function createOwnSkill(
  { db, clock }: Base,
  userId: string,
  request: CreateSkillRequest,
): Promise<OfferedSkill> {
  const text = parseSkillText('skillMd' in request ? request.skillMd : toSkillText(request))
  const { name, content } = text
  if (BUILT_IN.has(name) || RESERVED.has(name)) throw taken(name)
  const now = clock.now()
  const row = await write(db, (tx) => {
    const isThis = and(eq(ownSkills.userId, userId), eq(ownSkills.name, name))
    const existing = tx.select().from(ownSkills).where(isThis).get()
    if (!existing) return insertOwnSkill(tx, { userId, name, content, createdAt: now })
    if (existing.content === content) return existing
    if (!('skillMd' in request)) throw taken(name)
    const change = { content, version: existing.version + 1, updatedAt: now }
    return tx.update(ownSkills).set(change).where(isThis).returning().get()
  })
  return toOffered(row)
}

type FirstVersion = { userId: string; name: string; content: string; createdAt: Date }

function insertOwnSkill(tx: Tx, skill: FirstVersion) {
  const current = countRows(tx, ownSkills, eq(ownSkills.userId, skill.userId))
  requireQuota({ current, limit: MAX_OWN_SKILLS, message: `Own skills: ${MAX_OWN_SKILLS} at most`, extra: {} })
  const row = { ...skill, version: 1, updatedAt: skill.createdAt }
  return tx.insert(ownSkills).values(row).returning().get()
}

/** Deletes a user's skill and uninstalls it from all agents. @throws AppError `not_found`. */
export async function deleteOwnSkill({ db }: { db: Db }, userId: string, name: string): Promise<void> {
  await write(db, (tx) => {
    const isThis = and(eq(ownSkills.userId, userId), eq(ownSkills.name, name))
    if (tx.delete(ownSkills).where(isThis).run().changes === 0) throw new AppError('not_found', 'Skill not found')
    tx.delete(installedSkills)
      .where(and(eq(installedSkills.userId, userId), eq(installedSkills.skillId, name)))
      .run()
  })
}

function toSkillText({ name, description, category, code }: Extract<CreateSkillRequest, { code: string }>): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replace(/^-|-$/g, '')
  // JSON is valid YAML.
  const fields = { name: slug, description, category: category.toLowerCase() }
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return `---\n${lines.join('\n')}\n---\n\n# ${name.replaceAll('\n', ' ')}\n\n${code}\n`
}

function taken(name: string): AppError {
  return new AppError('conflict', `A skill named ${name} exists already`)
}
