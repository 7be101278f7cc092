import { z } from 'zod'
import { Task } from './schemas.ts'

/** `DELETE /api/scheduled-tasks`. */
export const DeletedScheduledTasksAnswer = z.object({ success: z.literal(true), taskId: z.string() })

/** `GET /v1/scheduled-tasks`. */
export const BackendScheduledTasksAnswer = z.object({ tasks: z.array(Task) })
