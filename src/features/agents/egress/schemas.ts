import { z } from 'zod'
import { EGRESS_POLICIES, formatDestination, parseDestination } from '../../../core/agents/egress-policy.ts'

const MAX_ENTRIES = 200
const MAX_ENTRY_LENGTH = 270

/** A destination such as `api.example.com`, `*.example.com` or `example.com:8443`, in its canonical form. */
const Entry = z
  .string('A destination must be text')
  .trim()
  .max(MAX_ENTRY_LENGTH, `A destination must be at most ${MAX_ENTRY_LENGTH} characters`)
  .transform((text, context) => {
    const parsed = parseDestination(text)
    if (parsed && parsed.port !== '*') return formatDestination(parsed)
    context.addIssue({ code: 'custom', message: `${text} is no host, host:port or *.host` })
    return z.NEVER
  })

/** The destinations of an allow list, each once. */
export const AllowList = z
  .array(Entry, 'allow must be a list of destinations')
  .max(MAX_ENTRIES, `allow must have at most ${MAX_ENTRIES} entries`)
  .transform((entries) => [...new Set(entries)])

/** `PUT /api/agents/:id/egress`. Entries without a port allow 80 and 443. Without `allow` the list stays as it is. */
export const EgressRequest = z
  .object({
    policy: z.enum(EGRESS_POLICIES, `policy must be one of ${EGRESS_POLICIES.join(', ')}`),
    allow: AllowList.optional(),
  })
  .meta({ examples: [{ policy: 'allow-list', allow: ['api.example.com', '*.example.org', 'example.net:8443'] }] })
export type EgressRequest = z.infer<typeof EgressRequest>

/** `POST /api/agents/:id/egress/allow`: adds one destination. */
export const AllowRequest = z
  .object({ destination: Entry })
  .meta({ examples: [{ destination: 'api.example.com:443' }] })

/**
 * `isDefault`: the owner has not chosen, and the default of the agent's template applies. `gap` says why programs of the
 * agent can bypass the policy; null when they cannot.
 */
export const AgentEgress = z.object({
  policy: z.enum(EGRESS_POLICIES),
  allow: z.array(z.string()),
  isDefault: z.boolean(),
  gap: z.string().nullable(),
})
export type AgentEgress = z.infer<typeof AgentEgress>

/**
 * A refused destination. `policy`: not allowed by the policy; `address`: private or reserved; `name`: TLS asked for
 * another host; `request`: malformed.
 */
export const BlockedDestination = z.object({
  host: z.string(),
  port: z.number(),
  reason: z.enum(['policy', 'address', 'name', 'request']),
  count: z.number(),
  firstAt: z.string(),
  lastAt: z.string(),
})
export type BlockedDestination = z.infer<typeof BlockedDestination>

/** `GET /api/agents/:id/egress/blocked`: the latest first. */
export const BlockedList = z.object({ blocked: z.array(BlockedDestination) })
