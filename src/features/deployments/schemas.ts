import { z } from 'zod'
import { hasNoNul } from '../agents/schemas.ts'

const Word = (name: string) =>
  z.string(`${name} must be text`).max(200, `${name} is too long`).refine(hasNoNul, `${name} must not contain NUL`)

/** `POST /api/deployments` (Spec 4.4; rulings, 16): `userId` and `name` say for whom, when the agent has no row yet. */
export const DeploymentRequest = z.object({
  agentId: z
    .string('agentId is required')
    .min(1, 'agentId is required')
    .regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'Invalid agentId'),
  userId: Word('userId').optional(),
  name: Word('name').optional(),
  config: z
    .object({
      plan: Word('plan').optional(),
      aiProvider: z
        .enum(
          ['openrouter', 'gemini', 'google', 'groq', 'anthropic', 'openai', 'ollama', 'local'],
          'Unsupported aiProvider',
        )
        .optional(),
      model: Word('model').optional(),
    })
    .default({}),
})
export type DeploymentRequest = z.infer<typeof DeploymentRequest>
