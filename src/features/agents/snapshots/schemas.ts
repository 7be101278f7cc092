import { z } from 'zod'

/**
 * What an agent had stored, kept on the server. `takenAt` is when the change was asked for that it was taken before, and
 * `before` which one that was, null where nobody knows any more.
 */
export const Snapshot = z.object({
  id: z.string(),
  takenAt: z.string(),
  before: z.string().nullable(),
  sizeBytes: z.number(),
})
export type Snapshot = z.infer<typeof Snapshot>

/** `GET /api/agents/:id/snapshots`, newest first. */
export const SnapshotList = z.object({ snapshots: z.array(Snapshot), count: z.number() })
