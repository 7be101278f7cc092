import { z } from 'zod'

/** `GET /api/auth/sessions`: one entry per signed-in browser; `address` and `userAgent` are those of the sign-in. */
export const SessionList = z.object({
  sessions: z.array(
    z.object({
      id: z.string(),
      current: z.boolean(),
      userAgent: z.string().nullable(),
      address: z.string().nullable(),
      createdAt: z.string(),
      lastSeen: z.string(),
      expiresAt: z.string(),
    }),
  ),
})
export type SessionList = z.infer<typeof SessionList>
