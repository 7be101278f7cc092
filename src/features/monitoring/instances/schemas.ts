import { z } from 'zod'

/** `GET /api/instance/:userId`. */
export const Instance = z.object({
  userId: z.string(),
  agentId: z.string(),
  status: z.string(),
  startedAt: z.string().nullable(),
  subdomain: z.string(),
  url: z.string(),
  plan: z.string(),
  runtimeVersion: z.string().nullable(),
})
export type Instance = z.infer<typeof Instance>

/** `GET /api/instance/:userId/stats`; `messages` and `errors` count received messages. */
export const InstanceStats = z.object({
  userId: z.string(),
  status: z.string(),
  health: z.enum(['healthy', 'unreachable']),
  cpu: z.string(),
  memory: z.string(),
  uptime: z.string(),
  messages: z.number(),
  errors: z.number(),
  plan: z.string(),
  runtimeVersion: z.string().nullable(),
})
export type InstanceStats = z.infer<typeof InstanceStats>
