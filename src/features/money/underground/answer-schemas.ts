import { z } from 'zod'
import { ShownMessage, UndergroundEvent } from './schemas.ts'

/** `POST /api/underground/bus/send`. */
export const BackendUndergroundBusSendAnswer = z.object({ success: z.literal(true), messageId: z.string() })

/** `POST /v1/bus/send`. */
export const BackendBusSendAnswer = z.object({ messageId: z.string(), success: z.literal(true) })

/** `GET /api/underground/events`. */
export const UndergroundEventsAnswer = z.array(UndergroundEvent)

/** `POST /api/admin/bus/dead-letters/:id/replay`. */
export const AdminBusDeadLetterReplayAnswer = z.object({ message: ShownMessage })
