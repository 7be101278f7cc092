import { z } from 'zod'

/** `POST /api/keys` (Spec 4.3). */
export const CreateKeyRequest = z.object({
  name: z.string('Name required').trim().min(1, 'Name required').max(64, 'Name too long (max 64 chars)'),
})
export type CreateKeyRequest = z.infer<typeof CreateKeyRequest>

/** A key as its owner may see it again: everything but the key. Times are ISO 8601. */
export const Key = z.object({
  id: z.string(),
  name: z.string(),
  keyPreview: z.string(),
  createdAt: z.string(),
  lastUsed: z.string().nullable(),
})
export type Key = z.infer<typeof Key>

export const KeyList = z.object({ keys: z.array(Key) })
export type KeyList = z.infer<typeof KeyList>

/** The one answer that carries the raw key. */
export const CreatedKey = z.object({ id: z.string(), name: z.string(), key: z.string(), createdAt: z.string() })
export type CreatedKey = z.infer<typeof CreatedKey>

/** `POST /api/keys/validate` (Spec 4.3). */
export const ValidateKeyRequest = z.object({
  apiKey: z.string('apiKey required').min(1, 'apiKey required').max(512, 'apiKey too long'),
})
export type ValidateKeyRequest = z.infer<typeof ValidateKeyRequest>
