import { z } from 'zod'

const MAX_CONTENT = 50_000
const named = 'skillId and agentId are required'
const skillId = z.string(named).min(1, named).max(100, 'skillId is too long')
const agentId = z.string(named).min(1, named).max(100, 'agentId is too long')
const word = (name: string) => z.string().max(100, `${name} is too long`).optional()

/** `GET /api/skills`. */
export const SkillQuery = z.object({
  category: word('category'),
  featured: z.enum(['true', 'false'], 'featured must be true or false').optional(),
  agentId: word('agentId'),
  search: word('search'),
})
export type SkillQuery = z.infer<typeof SkillQuery>

/** `POST /api/skills`: installs a skill, or enables a disabled one. */
export const InstallRequest = z.object({ skillId, agentId })
export type InstallRequest = z.infer<typeof InstallRequest>

/** `PATCH /api/skills`. */
export const EnableRequest = InstallRequest.extend({ enabled: z.boolean('enabled must be true or false') })
export type EnableRequest = z.infer<typeof EnableRequest>

const short = (name: string, max: number) =>
  z
    .string(`${name} must be text`)
    .trim()
    .min(1, `${name} is required`)
    .max(max, `${name} must be at most ${max} characters`)

const whole = 'Give skillMd, or name, description and code'

/** `POST /api/skills/create`: a `SKILL.md`, or the parts of one. */
export const CreateSkillRequest = z
  .object({
    skillMd: z
      .string('skillMd must be text')
      .min(1, 'skillMd is required')
      .max(MAX_CONTENT, `skillMd must be at most ${MAX_CONTENT} characters`)
      .optional(),
    name: short('name', 80).optional(),
    description: short('description', 600).optional(),
    category: short('category', 40).default('custom'),
    code: short('code', 2000).optional(),
  })
  .transform((request, context) => {
    const { skillMd, name, description, category, code } = request
    if (skillMd !== undefined) return { skillMd }
    if (name !== undefined && description !== undefined && code !== undefined)
      return { name, description, category, code }
    context.addIssue({ code: 'custom', message: whole })
    return z.NEVER
  })
export type CreateSkillRequest = z.infer<typeof CreateSkillRequest>

/** `POST /api/skills/:name`: the skill validates its own fields. */
export const UseSkillRequest = z
  .looseObject({}, 'Invalid action')
  .meta({ examples: [{ action: 'list' }, { action: 'list_pending' }] })
export type UseSkillRequest = z.infer<typeof UseSkillRequest>

/** A skill of the marketplace. `rating` is null because skills are not rated. `checksum` is the SHA-256 of its file. */
export const MarketplaceSkill = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  category: z.string(),
  author: z.string(),
  source: z.enum(['built-in', 'own']),
  version: z.string(),
  checksum: z.string(),
  downloads: z.number(),
  rating: z.null(),
  featured: z.boolean(),
  /** The platform runs its actions; any other skill is instructions for a model. */
  hasActions: z.boolean(),
  mcpEnabled: z.boolean(),
  mcpConfig: z.null(),
})
export type MarketplaceSkill = z.infer<typeof MarketplaceSkill>

export const Marketplace = z.object({
  skills: z.array(MarketplaceSkill),
  categories: z.array(z.string()),
  featured: z.array(MarketplaceSkill),
  installedSkillIds: z.array(z.string()),
  /** Installations by agent; null for anonymous visitors. */
  installed: z
    .array(z.object({ agentId: z.string(), skillId: z.string(), enabled: z.boolean(), createdAt: z.string() }))
    .nullable(),
  /** Enabled skills and the plan's limit; null for anonymous visitors. */
  limit: z.object({ used: z.number(), allowed: z.number().nullable() }).nullable(),
})
export type Marketplace = z.infer<typeof Marketplace>

export const InstallResponse = z.object({
  success: z.literal(true),
  installed: z.object({
    id: z.string(),
    userId: z.string(),
    agentId: z.string(),
    skillId: z.string(),
    enabled: z.boolean(),
    createdAt: z.string(),
  }),
  deployed: z.boolean(),
  deployWarning: z.string().optional(),
})
export type InstallResponse = z.infer<typeof InstallResponse>

/** `GET /api/skills/:name`: a skill with its whole file. */
export const SkillDetail = MarketplaceSkill.extend({ skill: z.string(), content: z.string() })
export type SkillDetail = z.infer<typeof SkillDetail>

export const CreatedSkill = z.object({ success: z.literal(true), skill: MarketplaceSkill })

/** `PATCH /api/skills`. */
export const ChangedSkill = InstallResponse.pick({ success: true, installed: true })

/** `GET /v1/skills`: what an agent loads. */
export const LoadedSkillList = z.object({
  skills: z.array(
    z.object({ name: z.string(), description: z.string(), instructions: z.string(), checksum: z.string() }),
  ),
})

/** `GET /api/skills/:name`: built-in skills have additional fields. */
export const ShownSkill = SkillDetail.loose()

/** `POST /api/skills/:name`: the result of the skill. */
export const SkillResult = z.looseObject({})
