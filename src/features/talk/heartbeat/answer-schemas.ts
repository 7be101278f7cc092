import { z } from 'zod'

/** `DELETE /api/heartbeat`. */
export const DeletedHeartbeatAnswer = z.object({ success: z.literal(true), message: z.string() })
