import { z } from 'zod'

/** `POST /api/register-home`. */
export const BackendRegisterHomeAnswer = z.object({
  success: z.literal(true),
  message: z.string(),
  dashboardUrl: z.string(),
})

/** `POST /api/heartbeat`. */
export const BackendHeartbeatAnswer = z.object({ success: z.literal(true), timestamp: z.string() })
