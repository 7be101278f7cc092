import { z } from 'zod'

export const Email = z.email('Invalid email format').max(254, 'Invalid email format')

/** Normalizes an address to the stored form: NFKC, lower case, trimmed. */
export const emailText = (missing: string) => z.string(missing).trim().normalize('NFKC').toLowerCase().min(1, missing)

export const CurrentPassword = z
  .string('Password must be text')
  .min(1, 'Password required')
  .max(1024, 'Password must be at most 1024 characters')

/** `GET /api/settings/referrals`: the user's code, the sign-ups with it and the credits earned. */
export const ReferralsResponse = z.object({ code: z.string(), referred: z.number(), credits: z.number() })
export type ReferralsResponse = z.infer<typeof ReferralsResponse>
