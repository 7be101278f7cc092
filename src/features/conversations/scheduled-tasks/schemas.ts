import { z } from 'zod'
import { isTimeZone } from '../../../core/time-zone.ts'

const MISSING = 'name, cronSchedule, prompt, and agentId are required'
const BAD_ZONE = 'timezone must be an IANA time zone such as Europe/Berlin'
const BAD_ENABLED = 'enabled must be true or false'
const MAX_PROMPT = 20_000

const required = (name: string, max: number) =>
  z.string(MISSING).trim().min(1, MISSING).max(max, `${name} must be at most ${max} characters`)
const changed = (name: string, max: number) =>
  z
    .string(`${name} must be text`)
    .trim()
    .min(1, `${name} must not be empty`)
    .max(max, `${name} must be at most ${max} characters`)
    .optional()
const Description = z
  .string('description must be text')
  .trim()
  .max(1000, 'description must be at most 1000 characters')
  .nullable()
  .optional()
const TimeZone = z.string(BAD_ZONE).max(64, BAD_ZONE).refine(isTimeZone, BAD_ZONE)
const TaskId = z.string('taskId required').min(1, 'taskId required').max(100, 'taskId required')

/** Body of `POST /api/scheduled-tasks`. `timezone` defaults to the owner's, and to UTC when that is unknown. */
export const CreateTaskRequest = z
  .object({
    name: required('name', 100),
    cronSchedule: required('cronSchedule', 100),
    prompt: required('prompt', MAX_PROMPT),
    agentId: required('agentId', 100),
    description: Description,
    timezone: TimeZone.optional(),
    enabled: z.boolean(BAD_ENABLED).default(true),
  })
  .meta({
    examples: [
      {
        name: 'Morning news',
        agentId: 'ada',
        cronSchedule: '0 7 * * 1-5',
        timezone: 'Europe/Berlin',
        prompt: 'Sum up the news.',
      },
    ],
  })
export type CreateTaskRequest = z.infer<typeof CreateTaskRequest>

/** Body of `POST /v1/scheduled-tasks`, for the agent's own tasks. */
export const CreateOwnTaskRequest = CreateTaskRequest.omit({ agentId: true, enabled: true })

/** Body of `PUT /api/scheduled-tasks`. Omitted fields stay unchanged. */
export const ChangeTaskRequest = z.object({
  taskId: TaskId,
  name: changed('name', 100),
  cronSchedule: changed('cronSchedule', 100),
  prompt: changed('prompt', MAX_PROMPT),
  description: Description,
  timezone: TimeZone.optional(),
  enabled: z.boolean(BAD_ENABLED).optional(),
})
export type ChangeTaskRequest = z.infer<typeof ChangeTaskRequest>

/** Body of `DELETE /api/scheduled-tasks`. */
export const DeleteTaskRequest = z.object({ taskId: TaskId })

/** Query of `GET /api/scheduled-tasks`. */
export const TaskQuery = z.object({ agentId: z.string().max(100).optional() })

/** Times are ISO 8601. `nextRun` is null while the task is off. */
export const Task = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  cronSchedule: z.string(),
  timezone: z.string(),
  prompt: z.string(),
  enabled: z.boolean(),
  lastRun: z.string().nullable(),
  nextRun: z.string().nullable(),
  agentId: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
})
export type Task = z.infer<typeof Task>

/** Newest first. */
export const TaskList = z.object({ tasks: z.array(Task), count: z.number() })
export type TaskList = z.infer<typeof TaskList>

/**
 * A run. `messageId` is the prompt in the agent's conversation; a `skipped` run was due while the previous one was
 * unfinished.
 */
export const TaskRun = z.object({
  id: z.string(),
  taskId: z.string().nullable(),
  trigger: z.enum(['schedule', 'manual', 'heartbeat']),
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'skipped']),
  dueAt: z.string(),
  startedAt: z.string().nullable(),
  finishedAt: z.string().nullable(),
  durationMs: z.number().nullable(),
  messageId: z.string().nullable(),
  error: z.string().nullable(),
})
export type TaskRun = z.infer<typeof TaskRun>

/** Newest first; older runs are deleted. */
export const TaskRunList = z.object({ runs: z.array(TaskRun), count: z.number() })
export type TaskRunList = z.infer<typeof TaskRunList>

/** Answer of `GET /v1/scheduled-tasks`: the agent's own tasks. */
export const OwnTaskList = TaskList.pick({ tasks: true })

/** Answer of `DELETE /api/scheduled-tasks`. */
export const DeletedTask = z.object({ success: z.literal(true), taskId: z.string() })
