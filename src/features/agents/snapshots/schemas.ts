import { z } from 'zod'

/**
 * A stored agent state. `takenAt` is the time of the change that the snapshot precedes; `before` is the kind of that
 * change, null when unknown.
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
