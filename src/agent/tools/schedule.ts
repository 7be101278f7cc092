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
  prompt: z.string().optional().describe('create: the message that you get at that time'),
  when: z
    .string()
    .optional()
    .describe(
      'create: once "in 10 minutes" or "2030-01-31T09:00" (your owner’s time zone unless it has an offset), repeatedly "every 15 minutes" or a cron expression of five fields',
    ),
  timezone: z
    .string()
    .optional()
    .describe('create: IANA time zone of `when`, such as Europe/Berlin; your owner’s unless given'),
  taskId: z.string().optional().describe('cancel: the id in the list'),
})

/** Reminders, which the platform keeps and whose prompts come back as messages. */
export function createScheduleTool(call: PlatformCall) {
  return {
    schedule: defineTool({
      description:
        'Keeps your schedule: "create" sends you the prompt once or repeatedly, "list" shows the planned ones, "cancel" switches one off. For a single reminder use a time, not a repeating schedule.',
      inputSchema: Input,
      execute: ({ action, name, prompt, when, timezone, taskId = '' }, { signal }) => {
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
