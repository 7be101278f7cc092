import { z } from 'zod'

/** `POST /api/agents/:id/verify`. */
export const NewAgentVerifyAnswer = z.object({
  success: z.boolean(),
  verified: z.boolean(),
  verificationType: z.string().nullable(),
  attestationUid: z.string().nullable(),
  verifiedAt: z.string().nullable(),
})
