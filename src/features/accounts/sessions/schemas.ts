import { z } from 'zod'

/** `GET /api/auth/sessions`: one row per signed-in browser. `address` and `userAgent` are what it came with. */
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
