import { z } from 'zod'

/** `GET /api/settings/referrals`: the code to give away and what it has brought. */
export const ReferralsResponse = z.object({ code: z.string(), referred: z.number(), credits: z.number() })
export type ReferralsResponse = z.infer<typeof ReferralsResponse>
