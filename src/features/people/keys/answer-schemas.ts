import { z } from 'zod'

/** `POST /api/validate-key`. */
export const BackendValidateKeyAnswer = z.object({
  valid: z.literal(true),
  userId: z.string(),
  plan: z.enum(['network', 'free', 'solo', 'collective', 'label']),
  features: z.array(z.string()),
})

/** `POST /api/keys/validate`. */
export const KeysValidateAnswer = z.object({
  valid: z.literal(true),
  userId: z.string(),
  email: z.string(),
  plan: z.enum(['network', 'free', 'solo', 'collective', 'label']),
  subscriptionStatus: z.enum(['active', 'inactive', 'past_due', 'canceled']),
  features: z.array(z.string()),
})
