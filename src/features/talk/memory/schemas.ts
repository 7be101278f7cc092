import { z } from 'zod'

export const MAX_KEY_CHARACTERS = 200
/** More than an agent ever kept in a file of its own. */
const MAX_IMPORTED = 200

const AgentId = z
  .string('agentId required')
  .min(1, 'agentId required')
  .max(100, 'agentId must be at most 100 characters')
const Key = z
  .string('key must be text')
  .min(1, 'key must not be empty')
  .max(MAX_KEY_CHARACTERS, `key must be at most ${MAX_KEY_CHARACTERS} characters`)
const NamedKey = z
  .string('key required')
  .min(1, 'key required')
  .max(MAX_KEY_CHARACTERS, `key must be at most ${MAX_KEY_CHARACTERS} characters`)

/** `POST /api/memory`: one value with its `key`, or without a key an object of values. */
export const SaveMemoryRequest = z.object({
  agentId: AgentId,
  key: Key.optional(),
  memory: z.unknown().optional(),
})
export type SaveMemoryRequest = z.infer<typeof SaveMemoryRequest>

/** `GET /api/memory?agentId=`: all agents without one, or with `all`. */
export const MemoryQuery = z.object({
  agentId: z
    .string()
    .max(100)
    .optional()
    .transform((id) => (id === 'all' || id === '' ? undefined : id)),
})

/** `DELETE /api/memory?agentId=&key=`. */
export const ForgetQuery = z.object({ agentId: AgentId, key: NamedKey })

/**
 * What agents remember; `agentId` is null for all of them together, where the newest of equal keys is shown. `unread` are
 * agents that keep notes of their own and cannot be asked for them now.
 */
export const Memory = z.object({
  memory: z.record(z.string(), z.unknown()),
  agentId: z.string().nullable(),
  count: z.number(),
  lastUpdated: z.string().nullable(),
  unread: z.array(z.string()).optional(),
})
export type Memory = z.infer<typeof Memory>

/** `POST /v1/memory`: what an agent wants to remember, under a name that it chooses. */
export const RememberRequest = z.object({ key: NamedKey, memory: z.string('memory must be text') })
export type RememberRequest = z.infer<typeof RememberRequest>

/** `POST /v1/memory/import`: what an agent has kept in a file until now; `at` is when, in ISO 8601. */
export const ImportRequest = z.object({
  facts: z
    .array(z.object({ key: NamedKey, text: z.string('text must be text'), at: z.iso.datetime().optional() }))
    .max(MAX_IMPORTED, `facts must be at most ${MAX_IMPORTED}`),
})
export type ImportRequest = z.infer<typeof ImportRequest>

/** `GET /v1/memory?key=`: one value as a whole; without a key the beginning of all. */
export const RecallQuery = z.object({ key: NamedKey.optional() })

/** `DELETE /v1/memory?key=`, or `?all=true` for everything. */
export const ForgetOwnQuery = z
  .object({ key: NamedKey.optional(), all: z.literal('true', 'all must be true').optional() })
  .refine(({ key, all }) => (key === undefined) !== (all === undefined), 'key or all=true required')

/** What an agent is shown of its memory, the newest last. `text` is the beginning of a value that is not whole. */
export const AgentMemory = z.object({
  facts: z.array(
    z.object({
      key: z.string(),
      text: z.string(),
      isWhole: z.boolean(),
      source: z.enum(['user', 'agent']),
      updatedAt: z.string(),
    }),
  ),
})
export type AgentMemory = z.infer<typeof AgentMemory>
