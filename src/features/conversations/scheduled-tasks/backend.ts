import { Hono } from 'hono'
import { AppError } from '../../../core/errors.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { validate } from '../../../http/validate.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import type { Base } from '../../base.ts'
import { requireTool } from '../agent-tools/settings.ts'
import { CreateOwnTaskRequest, OwnTaskList, Task } from './schemas.ts'
import { changeTask, createTask, getTask, listTasks } from './tasks.ts'
import { toTask } from './web.ts'

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
