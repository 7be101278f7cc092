import { z } from 'zod'

/** Reasons why user writes fail; omitted without any. */
const Faults = z.object({ failing: z.array(z.enum(['database', 'disk'])).optional() })

/** `GET /health` of the backend. */
export const BackendHealth = Faults.extend({
  status: z.enum(['ok', 'degraded']),
  timestamp: z.string(),
  docker: z.enum(['available', 'unavailable']),
  provisioning: z.enum(['enabled', 'disabled']),
})

/** Load of the machine: percentages from 0 to 100, memory in bytes, `uptime` of this process in seconds. */
export const HostHealth = z.object({
  health: z.enum(['healthy', 'degraded', 'unhealthy']),
  cpu: z.object({ usage: z.number(), cores: z.number() }),
  memory: z.object({ usage: z.number(), total: z.number(), used: z.number(), free: z.number() }),
  uptime: z.number(),
})
export type HostHealth = z.infer<typeof HostHealth>

/** `GET /api/health`. */
export const WebHealth = HostHealth.extend({ status: z.literal('ok'), timestamp: z.string(), ...Faults.shape })

/** `GET /healthz`, and `GET /readyz` when ready. */
export const Alive = z.object({ status: z.literal('ok') })

/** `GET /readyz` with status 503. */
export const Failing = z.object({ status: z.literal('failing'), failing: z.array(z.string()) })

/** `GET /health` of the summarizer. */
export const SummarizerHealth = z.object({ status: z.string(), service: z.string(), version: z.string() })

/** `GET /` of the summarizer: endpoints by method and path, and payment terms. */
export const SummarizerDescription = z.object({
  service: z.string(),
  description: z.string(),
  endpoints: z.record(z.string(), z.string()),
  payment: z.object({ network: z.string(), currency: z.string(), payTo: z.string().nullable(), note: z.string() }),
})
