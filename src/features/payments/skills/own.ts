import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { BUILT_IN } from './built-in.ts'
import { type OfferedSkill, toOffered } from './marketplace.ts'
import type { CreateSkillRequest } from './schemas.ts'
import { parseSkillText } from './skill-text.ts'
import { installedSkills, ownSkills } from './tables.ts'

const MAX_OWN_SKILLS = 100
/** Names that are addresses. */
const RESERVED: ReadonlySet<string> = new Set(['create'])

/**
 * Keeps a skill that a user brought. A `SKILL.md` of a name that they used before takes the place of that one, one version
 * on; the parts of a skill never do.
 * @throws AppError `invalid` for a file that is no skill, `conflict` for a name that is taken, `limited` at 100 skills.
 */
export async function createOwnSkill(
  { db, clock }: { db: Db; clock: Clock },
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

/** Takes it from every agent as well. @throws AppError `not_found` for one that is not theirs. */
export async function deleteOwnSkill({ db }: { db: Db }, userId: string, name: string): Promise<void> {
  await write(db, (tx) => {
    const isThis = and(eq(ownSkills.userId, userId), eq(ownSkills.name, name))
    if (tx.delete(ownSkills).where(isThis).run().changes === 0) throw new AppError('not_found', 'Skill not found')
    tx.delete(installedSkills)
      .where(and(eq(installedSkills.userId, userId), eq(installedSkills.skillId, name)))
      .run()
  })
}

type Parts = Extract<CreateSkillRequest, { code: string }>

function toSkillText({ name, description, category, code }: Parts): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 64)
    .replace(/^-|-$/g, '')
  // A JSON text is a YAML text as well.
  const fields = { name: slug, description, category: category.toLowerCase() }
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
  return `---\n${lines.join('\n')}\n---\n\n# ${name.replaceAll('\n', ' ')}\n\n${code}\n`
}

function taken(name: string): AppError {
  return new AppError('conflict', `A skill named ${name} exists already`)
}
