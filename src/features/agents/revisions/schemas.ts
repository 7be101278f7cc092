import { z } from 'zod'

/** A changed setting; null means not set. The values of a secret are `set` and `changed`. */
export const FieldChange = z.object({
  field: z.string(),
  before: z.string().nullable(),
  after: z.string().nullable(),
  isSecret: z.boolean(),
})
export type FieldChange = z.infer<typeof FieldChange>

/**
 * A configuration of an agent. `changes` compares it with the one before, `healthyAt` is null while the agent has not
 * run healthy with it for long enough.
 */
export const Revision = z.object({
  number: z.number(),
  author: z.object({
    kind: z.enum(['user', 'operator', 'platform', 'watchdog']),
    id: z.string().nullable(),
    name: z.string().nullable(),
  }),
  restoredFrom: z.number().nullable(),
  isCurrent: z.boolean(),
  model: z.string(),
  image: z.string().nullable(),
  runtimeVersion: z.string().nullable(),
  changes: z.array(FieldChange),
  createdAt: z.iso.datetime(),
  healthyAt: z.iso.datetime().nullable(),
})
export type Revision = z.infer<typeof Revision>

/** `GET /api/agents/:id/revisions`: newest first. */
export const RevisionList = z.object({ revisions: z.array(Revision) })
export type RevisionList = z.infer<typeof RevisionList>

/** `GET /api/agents/:id/revisions/:number`: `restoring` is what restoring it would change now. */
export const RevisionDetail = z.object({ revision: Revision, restoring: z.array(FieldChange) })
export type RevisionDetail = z.infer<typeof RevisionDetail>

/** `POST /api/agents/:id/revisions/:number/restore`: the revision that restores the old one. */
export const RestoredRevision = z.object({ success: z.literal(true), revision: Revision })
export type RestoredRevision = z.infer<typeof RestoredRevision>
