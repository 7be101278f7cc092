import { z } from 'zod'
import { AgentMemory } from './schemas.ts'

/** `GET /v1/memory`. */
export const BackendMemoryAnswer = z.union([AgentMemory, z.object({ key: z.string(), text: z.string() })])

/** `POST /v1/memory`. */
export const BackendNewMemoryAnswer = z.object({ key: z.string(), saved: z.string() })

/** `POST /v1/memory/import`. */
export const BackendMemoryImportAnswer = z.object({ imported: z.number() })

/** `DELETE /v1/memory`. */
export const BackendDeletedMemoryAnswer = z.object({ key: z.string().nullable(), deleted: z.literal(true) })

/** `POST /api/memory`. */
export const NewMemoryAnswer = z.union([
  z.object({ saved: z.string(), keysUpdated: z.number(), success: z.literal(true), agentId: z.string() }),
  z.object({ saved: z.string(), key: z.string(), success: z.literal(true), agentId: z.string() }),
])

/** `DELETE /api/memory`. */
export const DeletedMemoryAnswer = z.object({
  success: z.literal(true),
  agentId: z.string(),
  key: z.string(),
  deleted: z.literal(true),
})
