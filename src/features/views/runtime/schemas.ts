import { z } from 'zod'

/** `GET /api/runtime/version`: `image` is null where agents are processes, `deployedAt` before the first deployment. */
export const RuntimeVersion = z.object({
  runtimeVersion: z.string(),
  image: z.string().nullable(),
  deployedAt: z.string().nullable(),
})
export type RuntimeVersion = z.infer<typeof RuntimeVersion>

/** A running agent; `status` says since when, as "Up 2 hours". */
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

/** `GET /api/runtime/instances/:id/stats`: texts as container engines print them, `uptime` in ms; `N/A`: not measured here. */
export const RuntimeInstanceStats = z.object({
  agentId: z.string(),
  cpu: z.string(),
  memory: z.string(),
  memoryPercent: z.string(),
  network: z.string(),
  blockIO: z.string(),
  pids: z.string(),
  status: z.string(),
  uptime: z.number(),
  uptimeFormatted: z.string(),
  timestamp: z.string(),
})
export type RuntimeInstanceStats = z.infer<typeof RuntimeInstanceStats>
