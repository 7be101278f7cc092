import { z } from 'zod'
import type { PlatformCall } from '../platform-call.ts'
import { defineTool } from './define.ts'

const PATH = '/v1/scheduled-tasks'
const Task = z.object({
  id: z.string(),
  name: z.string(),
  cronSchedule: z.string(),
  timezone: z.string(),
  prompt: z.string(),
  enabled: z.boolean(),
  nextRun: z.string().nullable(),
})
const Tasks = z.object({ tasks: z.array(Task) })

const Input = z.object({
  action: z.enum(['create', 'list', 'cancel']),
  name: z.string().optional().describe('create: a short name'),
  prompt: z.string().optional().describe('create: what you are told when the time has come'),
  when: z
    .string()
    .optional()
    .describe(
      'create: "@at 2030-01-31T09:00:00+01:00" once, "@every 15m" (m, h or d) or a cron expression of five fields',
    ),
  timezone: z.string().optional().describe('create: IANA time zone of a cron expression, such as Europe/Berlin'),
  taskId: z.string().optional().describe('cancel: the id in the list'),
})

/** Reminders, which the platform keeps and whose prompts come back as messages. */
export function createScheduleTool(call: PlatformCall) {
  return {
    schedule: defineTool({
      description:
        'Keeps your schedule: "create" has you reminded once, at intervals or by cron, "list" shows what is planned, "cancel" switches one off.',
      inputSchema: Input,
      execute: ({ action, name, prompt, when, timezone = 'UTC', taskId = '' }, { signal }) => {
        if (action === 'list') return call(Tasks, { path: PATH, signal })
        if (action === 'cancel') {
          const path = `${PATH}/${encodeURIComponent(taskId)}/cancel`
          return call(Task, { path, method: 'POST', body: {}, signal })
        }
        const body = { name, prompt, cronSchedule: when, timezone }
        return call(Task, { path: PATH, method: 'POST', body, isOnce: true, signal })
      },
    }),
  }
}
