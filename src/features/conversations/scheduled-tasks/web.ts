import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import type { Base } from '../../base.ts'
import { listTaskRuns } from './runs.ts'
import {
  ChangeTaskRequest,
  CreateTaskRequest,
  DeletedTask,
  DeleteTaskRequest,
  Run,
  RunList,
  Task,
  TaskList,
  TaskQuery,
} from './schemas.ts'
import type { TaskRow, TaskRunRow } from './tables.ts'
import { changeTask, createTask, deleteTask, getTask, listTasks, runTaskNow } from './tasks.ts'

/** Routes for scheduled tasks. */
export function scheduledTasksWeb(deps: Base & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/scheduled-tasks',
    endpoint({ summary: 'Lists scheduled tasks', tag: 'Scheduled tasks', responses: { 200: TaskList } }),
    signedIn,
    validate('query', TaskQuery),
    (c) => {
      const tasks = listTasks(deps.db, c.var.user.id, c.req.valid('query').agentId).map(toTask)
      return c.json({ tasks, count: tasks.length } satisfies TaskList)
    },
  )

  app.post(
    '/api/scheduled-tasks',
    endpoint({
      summary: 'Schedules a prompt for an agent',
      tag: 'Scheduled tasks',
      responses: { 201: Task },
      errors: ['not_found', 'limited'],
      scope: 'agents',
    }),
    signedIn,
    validate('json', CreateTaskRequest),
    async (c) => c.json(toTask(await createTask(deps, c.var.user, c.req.valid('json'))), 201),
  )

  app.put(
    '/api/scheduled-tasks',
    endpoint({
      summary: 'Changes a scheduled task',
      tag: 'Scheduled tasks',
      responses: { 200: Task },
      errors: ['not_found'],
      scope: 'agents',
    }),
    signedIn,
    validate('json', ChangeTaskRequest),
    async (c) => c.json(toTask(await changeTask(deps, c.var.user.id, c.req.valid('json')))),
  )

  app.delete(
    '/api/scheduled-tasks',
    endpoint({
      summary: 'Deletes a scheduled task',
      tag: 'Scheduled tasks',
      responses: { 200: DeletedTask },
      errors: ['not_found'],
      scope: 'agents',
    }),
    signedIn,
    validate('json', DeleteTaskRequest),
    async (c) => {
      const { taskId } = c.req.valid('json')
      await deleteTask(deps.db, c.var.user.id, taskId)
      return c.json({ success: true, taskId })
    },
  )

  app.get(
    '/api/scheduled-tasks/:id/runs',
    endpoint({
      summary: 'Lists the runs of a scheduled task',
      tag: 'Scheduled tasks',
      responses: { 200: RunList },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => {
      const task = getTask(deps.db, c.var.user.id, c.req.param('id'))
      const runs = listTaskRuns(deps.db, task.id).map(toRun)
      return c.json({ runs, count: runs.length } satisfies RunList)
    },
  )

  app.post(
    '/api/scheduled-tasks/:id/run',
    endpoint({
      summary: 'Runs a scheduled task now',
      tag: 'Scheduled tasks',
      responses: { 202: Run },
      errors: ['not_found', 'conflict'],
      scope: 'agents',
    }),
    signedIn,
    validateAnyBody(NoBody),
    async (c) => c.json(toRun(await runTaskNow(deps, c.var.user.id, c.req.param('id'))), 202),
  )

  return app
}

export function toTask(row: TaskRow): Task {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    cronSchedule: row.cronSchedule,
    timezone: row.timezone,
    prompt: row.prompt,
    enabled: row.enabled,
    lastRun: row.lastRunAt?.toISOString() ?? null,
    nextRun: row.nextRunAt?.toISOString() ?? null,
    agentId: row.agentId,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  }
}

function toRun(row: TaskRunRow): Run {
  const { startedAt, finishedAt } = row
  return {
    id: row.id,
    taskId: row.taskId,
    trigger: row.trigger,
    status: row.status,
    dueAt: row.dueAt.toISOString(),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
    durationMs: startedAt && finishedAt ? finishedAt.getTime() - startedAt.getTime() : null,
    messageId: row.messageId,
    error: row.error,
  }
}
