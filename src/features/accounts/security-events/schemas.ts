import { z } from 'zod'

/** The events that `GET /api/security/risc` lists. */
export const SUPPORTED_EVENTS = [
  'account-disabled',
  'account-enabled',
  'sessions-revoked',
  'tokens-revoked',
  'account-credential-change-required',
  'verification',
] as const

/** The subject of an event. Issuers fill different fields; non-text values count as missing. */
export const Subject = z.object({
  iss: z.string().optional().catch(undefined),
  sub: z.string().optional().catch(undefined),
  email: z.string().optional().catch(undefined),
  token: z.string().optional().catch(undefined),
})
export type Subject = z.infer<typeof Subject>

/** The body of one event; an unknown form has no subject and is not an error. */
export const EventBody = z
  .object({ subject: Subject.catch({}).default({}), reason: z.string().optional().catch(undefined) })
  .catch({ subject: {}, reason: undefined })
export type EventBody = z.infer<typeof EventBody>

/** The column `claims`; `form` is the endpoint that received the token. */
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
