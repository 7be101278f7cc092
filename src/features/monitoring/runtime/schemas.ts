import { z } from 'zod'
import { ShownUse } from '../metrics/schemas.ts'

/** `GET /api/runtime/version`: `image` is null for the process runtime, `deployedAt` before the first deployment. */
export const RuntimeVersion = z.object({
  runtimeVersion: z.string(),
  image: z.string().nullable(),
  deployedAt: z.string().nullable(),
})
export type RuntimeVersion = z.infer<typeof RuntimeVersion>

/** A running agent; `status` is its age, such as "Up 2 hours". */
export const RuntimeInstance = z.object({
  agentId: z.string(),
  name: z.string(),
  image: z.string().nullable(),
  status: z.string(),
  createdAt: z.string(),
  version: z.string(),
  metadata: z.object({ plan: z.string(), model: z.string(), kind: z.string() }).nullable(),
})
export type RuntimeInstance = z.infer<typeof RuntimeInstance>

export const RuntimeInstances = z.object({ instances: z.array(RuntimeInstance), count: z.number() })
export type RuntimeInstances = z.infer<typeof RuntimeInstances>

/** `GET /api/runtime/instances/:id/stats`: `uptime` in ms. */
export const RuntimeInstanceStats = ShownUse.extend({ blockIO: z.string(), status: z.string(), uptime: z.number() })
export type RuntimeInstanceStats = z.infer<typeof RuntimeInstanceStats>
