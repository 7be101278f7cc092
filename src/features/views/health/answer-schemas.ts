import { z } from 'zod'

/** `GET /health`. */
export const BackendHealthAnswer = z.object({
  failing: z.array(z.enum(['database', 'disk'])).optional(),
  status: z.string(),
  timestamp: z.string(),
  docker: z.string(),
  provisioning: z.string(),
})

/** `GET /healthz`, and `GET /readyz` when all is well. */
export const HealthzAnswer = z.object({ status: z.literal('ok') })

/** `GET /readyz` with 503: which parts fail. */
export const FailingAnswer = z.object({ status: z.literal('failing'), failing: z.array(z.string()) })

/** `GET /`. */
export const SummarizerRootAnswer = z.object({
  service: z.string(),
  description: z.string(),
  endpoints: z.object({
    'GET /': z.string(),
    'GET /health': z.string(),
    'POST /api/summarize': z.string(),
    'POST /api/extract': z.string(),
  }),
  payment: z.object({ network: z.string(), currency: z.string(), payTo: z.string().nullable(), note: z.string() }),
})

/** `GET /health`. */
export const SummarizerHealthAnswer = z.object({ status: z.string(), service: z.string(), version: z.string() })

/** `GET /api/health`. */
export const HealthAnswer = z.object({
  status: z.string(),
  health: z.enum(['degraded', 'healthy', 'unhealthy']),
  timestamp: z.string(),
  cpu: z.object({ usage: z.number(), cores: z.number() }),
  memory: z.object({ usage: z.number(), total: z.number(), used: z.number(), free: z.number() }),
  uptime: z.number(),
  failing: z.array(z.enum(['database', 'disk'])).optional(),
})
