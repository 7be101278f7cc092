import { z } from 'zod'

export const Email = z.email('Invalid email format').max(254, 'Invalid email format')

/** An address in the one form in which accounts are kept: NFKC, lower case, no space around it. */
export const emailText = (missing: string) => z.string(missing).trim().normalize('NFKC').toLowerCase().min(1, missing)

export const CurrentPassword = z
  .string('Password must be text')
  .min(1, 'Password required')
  .max(1024, 'Password must be at most 1024 characters')

/** `GET /api/settings/referrals`: the code to give away and what it has brought. */
export const ReferralsResponse = z.object({ code: z.string(), referred: z.number(), credits: z.number() })
export type ReferralsResponse = z.infer<typeof ReferralsResponse>
