import { z } from 'zod'

/** `GET /api/instance/:userId/token`. */
export const InstanceTokenAnswer = z.object({ token: z.string() })

/** `POST /api/instance/:userId/start`. */
export const InstanceStartAnswer = z.object({ success: z.literal(true), status: z.string() })
