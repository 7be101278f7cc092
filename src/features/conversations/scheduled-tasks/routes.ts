import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { SignedInUser, WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { NoBody, validate, validateAnyBody } from '../../../http/validate.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { requireTool } from '../agent-tools/settings.ts'
import { listTaskRuns } from './runs.ts'
import {
  ChangeTaskRequest,
  CreateOwnTaskRequest,
  CreateTaskRequest,
  DeletedTask,
  DeleteTaskRequest,
  OwnTaskList,
  Task,
  TaskList,
  TaskQuery,
  TaskRun,
  TaskRunList,
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
      responses: { 200: TaskRunList },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => {
      const task = getTask(deps.db, c.var.user.id, c.req.param('id'))
      const runs = listTaskRuns(deps.db, task.id).map(toRun)
      return c.json({ runs, count: runs.length } satisfies TaskRunList)
    },
  )

  app.post(
    '/api/scheduled-tasks/:id/run',
    endpoint({
      summary: 'Runs a scheduled task now',
      tag: 'Scheduled tasks',
      responses: { 202: TaskRun },
      errors: ['not_found', 'conflict'],
      scope: 'agents',
    }),
    signedIn,
    validateAnyBody(NoBody),
    async (c) => c.json(toRun(await runTaskNow(deps, c.var.user.id, c.req.param('id'))), 202),
  )

  return app
}

function toTask(row: TaskRow): Task {
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

function toRun(row: TaskRunRow): TaskRun {
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

/** Routes for an agent's own scheduled tasks, which its owner can change too. */
export function scheduledTasksBackend(
  deps: Base & { callers: CallerFinder; findUser: (id: string) => SignedInUser | null },
) {
  const app = new Hono<AgentCallerEnv>()
  const agent = requireAgent(deps.callers)
  const ownerOf = (agentId: string): SignedInUser => {
    requireTool(deps.db, agentId, 'schedule')
    const { ownerId } = getAgent(deps.db, { kind: 'operator' }, agentId)
    const owner = ownerId === null ? null : deps.findUser(ownerId)
    if (!owner) throw new AppError('forbidden', 'This agent has no owner for whom it could schedule anything')
    return owner
  }

  app.get(
    '/v1/scheduled-tasks',
    endpoint({
      summary: "Lists the calling agent's tasks",
      tag: 'Scheduled tasks',
      responses: { 200: OwnTaskList },
      errors: ['not_found'],
    }),
    agent,
    (c) => {
      const { agentId } = c.var
      return c.json({ tasks: listTasks(deps.db, ownerOf(agentId).id, agentId).map(toTask) })
    },
  )

  app.post(
    '/v1/scheduled-tasks',
    endpoint({
      summary: 'Schedules a prompt for the calling agent',
      tag: 'Scheduled tasks',
      responses: { 201: Task },
      errors: ['not_found', 'limited'],
    }),
    agent,
    validate('json', CreateOwnTaskRequest),
    async (c) => {
      const request = { ...c.req.valid('json'), agentId: c.var.agentId, enabled: true }
      return c.json(toTask(await createTask(deps, ownerOf(c.var.agentId), request)), 201)
    },
  )

  // Disables the task instead of deleting it, so that the owner can undo the effect of a prompt injection.
  app.post(
    '/v1/scheduled-tasks/:id/cancel',
    endpoint({
      summary: 'Cancels a task of the calling agent',
      tag: 'Scheduled tasks',
      responses: { 200: Task },
      errors: ['invalid', 'not_found'],
    }),
    agent,
    async (c) => {
      const owner = ownerOf(c.var.agentId)
      const task = getTask(deps.db, owner.id, c.req.param('id'))
      if (task.agentId !== c.var.agentId) throw new AppError('not_found', 'Task not found')
      return c.json(toTask(await changeTask(deps, owner.id, { taskId: task.id, enabled: false })))
    },
  )

  return app
}
