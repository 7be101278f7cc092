import { z } from 'zod'

const AgentId = z
  .string('agentId required')
  .min(1, 'agentId required')
  .max(100, 'agentId must be at most 100 characters')
const Key = z.string('key must be text').min(1, 'key must not be empty').max(200, 'key must be at most 200 characters')

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
export const ForgetQuery = z.object({
  agentId: AgentId,
  key: z.string('key required').min(1, 'key required').max(200, 'key must be at most 200 characters'),
})

/** What agents remember; `agentId` is null for all of them together, where the newest of equal keys is shown. */
export const Memory = z.object({
  memory: z.record(z.string(), z.unknown()),
  agentId: z.string().nullable(),
  count: z.number(),
  lastUpdated: z.string().nullable(),
})
export type Memory = z.infer<typeof Memory>
