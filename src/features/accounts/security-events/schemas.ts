import { z } from 'zod'

/** The events that `GET /api/security/risc` names (Interface 4.2). */
export const SUPPORTED_EVENTS = [
  'account-disabled',
  'account-enabled',
  'sessions-revoked',
  'tokens-revoked',
  'account-credential-change-required',
  'verification',
] as const

/** Whom an event is about. Issuers differ in what they fill; what is not text counts as missing. */
export const Subject = z.object({
  iss: z.string().optional().catch(undefined),
  sub: z.string().optional().catch(undefined),
  email: z.string().optional().catch(undefined),
  token: z.string().optional().catch(undefined),
})
export type Subject = z.infer<typeof Subject>

/** What one event carries; a form that we do not know is an event about nobody, not a failure. */
export const EventBody = z
  .object({ subject: Subject.catch({}).default({}), reason: z.string().optional().catch(undefined) })
  .catch({ subject: {}, reason: undefined })
export type EventBody = z.infer<typeof EventBody>

/** The column `claims`: which of the two endpoints took the token, and what it said. */
export const StoredClaims = z.object({
  form: z.enum(['current', 'legacy']),
  sub: z.string().optional(),
  events: z.record(z.string(), z.unknown()),
})
export type StoredClaims = z.infer<typeof StoredClaims>

/** `GET /api/security/risc`. */
export const SecurityEventReceiver = z.object({
  status: z.string(),
  endpoint: z.string(),
  description: z.string(),
  events_supported: z.array(z.string()),
})
