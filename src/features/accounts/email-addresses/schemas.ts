import { z } from 'zod'

/** `POST /api/auth/verify-email`: `token` is the one of the link, of a first address or of a changed one. */
export const VerifyEmailRequest = z.object({
  token: z.string('Token is required').min(1, 'Token is required').max(512, 'Invalid or expired verification link'),
})
export type VerifyEmailRequest = z.infer<typeof VerifyEmailRequest>
