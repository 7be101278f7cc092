import { z } from 'zod'

/** `POST /api/auth/verify-email`: `token` is from the mailed link. */
export const VerifyEmailRequest = z.object({
  token: z.string('Token is required').min(1, 'Token is required').max(512, 'Invalid or expired verification link'),
})
export type VerifyEmailRequest = z.infer<typeof VerifyEmailRequest>
