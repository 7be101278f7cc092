import { z } from 'zod'

/** A node of the cluster; `lag` counts the log entries that it has not applied. `gone`: not seen for some seconds. */
const ClusterNodeState = z.object({
  id: z.string(),
  role: z.enum(['leader', 'follower', 'gone']),
  position: z.number(),
  lag: z.number(),
  version: z.string(),
  url: z.string(),
})

/** `GET /api/cluster`. `synchronous`: an acknowledged write is on a second PostgreSQL server. */
export const ClusterStatus = z.object({
  nodes: z.array(ClusterNodeState),
  leader: z.string().nullable(),
  log: z.object({ position: z.number(), synchronous: z.boolean() }),
})
export type ClusterStatus = z.infer<typeof ClusterStatus>

/** `POST /api/cluster/snapshot`: the log entry up to which the stored snapshot reaches. */
export const ClusterSnapshot = z.object({ position: z.number() })

/** The cluster that this node belongs to. */
export type Cluster = { readStatus(): Promise<ClusterStatus>; saveSnapshot(): Promise<number> }
