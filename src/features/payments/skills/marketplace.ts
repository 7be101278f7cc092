import { and, asc, countDistinct, eq, inArray, ne } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { VERSION } from '../../../core/version.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { planInForce, planRequired } from '../../accounts/plans/plans.ts'
import { agents } from '../../agents/registry/tables.ts'
import { hasActions } from './runners/runners.ts'
import type { Marketplace, MarketplaceSkill, SkillDetail, SkillQuery } from './schemas.ts'
import { BUILT_IN, isFeatured, parseSkillText, type SkillText } from './skill-text.ts'
import { installedSkills, ownSkills, skillFigures } from './tables.ts'

/** An installable skill. The `version` of a built-in skill is the program's. */
export type OfferedSkill = { text: SkillText; source: MarketplaceSkill['source']; version: string }

/** Lists the built-in skills and the user's own, featured ones first. */
export function listMarketplace(db: Db, user: SignedInUser | null, query: SkillQuery): Marketplace {
  const all = listOffered(db, user).map((offered) => toSkill(offered, 0))
  const downloads = readDownloads(
    db,
    all.map(({ id }) => id),
  )
  const skills = all.map((skill) => ({ ...skill, downloads: downloads.get(skill.id) ?? 0 })).sort(byRank)
  const installed = user ? listInstalled(db, user.id, query.agentId) : null
  return {
    skills: skills.filter((skill) => matches(skill, query)),
    categories: [...new Set(skills.map(({ category }) => category))].sort(),
    featured: skills.filter(({ featured }) => featured),
    installedSkillIds: [...new Set(installed?.map(({ skillId }) => skillId))],
    installed,
    limit: user && { used: countEnabledSkills(db, user.id), allowed: planInForce(db, user).skills },
  }
}

/** Returns a built-in skill or one of the user's own. @throws AppError `not_found`. */
export function getOffered(db: Db, userId: string | null, name: string): OfferedSkill {
  const builtIn = BUILT_IN.get(name)
  if (builtIn) return { text: builtIn, source: 'built-in', version: VERSION }
  const isOwn = and(eq(ownSkills.userId, userId ?? ''), eq(ownSkills.name, name))
  const row = db.select().from(ownSkills).where(isOwn).get()
  if (!row) throw new AppError('not_found', 'Skill not found')
  return toOffered(row)
}

/** Returns a skill with its file. @throws AppError `not_found`. */
export function getSkillDetail(db: Db, userId: string | null, name: string): SkillDetail {
  const offered = getOffered(db, userId, name)
  const skill = toSkill(offered, readDownloads(db, [name]).get(name) ?? 0)
  return { ...skill, skill: name, content: offered.text.content }
}

export function toSkill({ text, source, version }: OfferedSkill, downloads: number): MarketplaceSkill {
  return {
    id: text.name,
    name: text.title,
    description: text.description,
    category: text.category,
    author: source === 'built-in' ? 'Stead' : 'you',
    source,
    version,
    checksum: text.checksum,
    downloads,
    rating: null,
    featured: source === 'built-in' && isFeatured(text.name),
    hasActions: source === 'built-in' && hasActions(text.name),
    mcpEnabled: false,
    mcpConfig: null,
  }
}

export function toOffered(row: typeof ownSkills.$inferSelect): OfferedSkill {
  return { text: parseSkillText(row.content), source: 'own', version: String(row.version) }
}

function listOffered(db: Db, user: SignedInUser | null): OfferedSkill[] {
  const builtIn = [...BUILT_IN.values()].map((text): OfferedSkill => ({ text, source: 'built-in', version: VERSION }))
  if (!user) return builtIn
  const own = db.select().from(ownSkills).where(eq(ownSkills.userId, user.id)).orderBy(asc(ownSkills.name)).all()
  return [...builtIn, ...own.map(toOffered)]
}

/** Only built-in skills are counted. */
function readDownloads(db: Db, names: string[]): Map<string, number> {
  const rows = db.select().from(skillFigures).where(inArray(skillFigures.skillId, names)).all()
  return new Map(rows.map(({ skillId, downloads }) => [skillId, downloads]))
}

function listInstalled(db: Db, userId: string, agentId: string | undefined) {
  const isTheirs = and(
    eq(installedSkills.userId, userId),
    agentId === undefined ? undefined : eq(installedSkills.agentId, agentId),
  )
  const rows = db.select().from(installedSkills).where(isTheirs).orderBy(asc(installedSkills.id)).all()
  return rows.map(({ agentId, skillId, enabled, createdAt }) => ({
    agentId,
    skillId,
    enabled,
    createdAt: createdAt.toISOString(),
  }))
}

function matches(skill: MarketplaceSkill, { category, featured, search }: SkillQuery): boolean {
  if (category && skill.category !== category) return false
  if (featured === 'true' && !skill.featured) return false
  const words = (search ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const text = `${skill.id} ${skill.name} ${skill.description} ${skill.category}`.toLowerCase()
  return words.every((word) => text.includes(word))
}

function byRank(one: MarketplaceSkill, other: MarketplaceSkill): number {
  return (
    Number(other.featured) - Number(one.featured) ||
    other.downloads - one.downloads ||
    one.name.localeCompare(other.name, 'en')
  )
}

/** Counts a skill once, however many agents have it enabled. */
function countEnabledSkills(db: Db, userId: string, besides = ''): number {
  const isCounted = and(
    eq(installedSkills.userId, userId),
    eq(installedSkills.enabled, true),
    ne(installedSkills.skillId, besides),
  )
  return (
    db
      .select({ skills: countDistinct(installedSkills.skillId) })
      .from(installedSkills)
      .where(isCounted)
      .get()?.skills ?? 0
  )
}

/** @throws AppError `limited` {current, limit} at the plan's skills, `payment_required` without a plan. */
export function requireSkillQuota(tx: Tx, user: SignedInUser, skillId: string): void {
  const limit = planInForce(tx, user).skills
  if (limit === null) return
  if (limit === 0) throw planRequired()
  const current = countEnabledSkills(tx, user.id, skillId)
  requireQuota({ current, limit, message: 'Skill limit reached' })
}

/**
 * Lists the enabled skills of an agent within its owner's plan, the oldest installations first. Deleted skills are left
 * out.
 */
export function listAgentSkills(
  { db, findUser }: { db: Db; findUser: (id: string) => SignedInUser | null },
  agentId: string,
): SkillText[] {
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
