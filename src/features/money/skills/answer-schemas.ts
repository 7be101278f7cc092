import { z } from 'zod'
import { SkillDetail } from './schemas.ts'

/** `GET /v1/skills`. */
export const BackendSkillsAnswer = z.object({
  skills: z.array(
    z.object({ name: z.string(), description: z.string(), instructions: z.string(), checksum: z.string() }),
  ),
})

/** `PATCH /api/skills`. */
export const ChangedSkillsAnswer = z.object({
  success: z.literal(true),
  installed: z.object({
    id: z.string(),
    userId: z.string(),
    agentId: z.string(),
    skillId: z.string(),
    enabled: z.boolean(),
    createdAt: z.string(),
  }),
})

/** `GET /api/skills/:name`: a built-in skill tells more of itself. */
export const SkillDetailAnswer = SkillDetail.loose()

/** `POST /api/skills/:name`: what the skill has found or done. */
export const SkillCallAnswer = z.looseObject({})
