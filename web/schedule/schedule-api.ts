import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { MessageList } from '../../src/features/conversations/chat/schemas.ts'
import {
  type ChangeTaskRequest,
  type CreateTaskRequest,
  Task,
  TaskList,
  TaskRun,
  TaskRunList,
} from '../../src/features/conversations/scheduled-tasks/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

/** The reply to a prompt is searched among these newest lines. */
const LINES = 100

export function tasksQuery(agentId: string) {
  return queryOptions({
    queryKey: ['tasks', agentId],
    queryFn: async ({ signal }) =>
      (await request(TaskList, api.GET('/api/scheduled-tasks', { params: { query: { agentId } }, signal }))).tasks,
    refetchInterval: 15_000,
  })
}

/** Polls while a run is in progress. */
export function taskRunsQuery(taskId: string) {
  return queryOptions({
    queryKey: ['task-runs', taskId],
    queryFn: async ({ signal }) =>
      (await request(TaskRunList, api.GET('/api/scheduled-tasks/{id}/runs', { ...inPath({ id: taskId }), signal })))
        .runs,
    refetchInterval: ({ state }) => (state.data?.some(isTaskRunUnderWay) ? 1_000 : 15_000),
  })
}

export function isTaskRunUnderWay({ status }: TaskRun): boolean {
  return status === 'queued' || status === 'running'
}

export function createTask(body: z.input<typeof CreateTaskRequest>) {
  return request(Task, api.POST('/api/scheduled-tasks', { body }))
}

export function changeTask(body: ChangeTaskRequest) {
  return request(Task, api.PUT('/api/scheduled-tasks', { body }))
}

export function deleteTask(taskId: string) {
  return request(z.object({ success: z.literal(true) }), api.DELETE('/api/scheduled-tasks', { body: { taskId } }))
}

/** Continues when the page is left. */
export function runTask(taskId: string) {
  return request(TaskRun, api.POST('/api/scheduled-tasks/{id}/run', inPath({ id: taskId })))
}

/** Returns the next message of the agent after `messageId`; null when it is too old or missing. */
export async function findReply(agentId: string, messageId: string, signal: AbortSignal): Promise<string | null> {
  const query = { agentId, limit: LINES }
  const { messages } = await request(MessageList, api.GET('/api/chat', { params: { query }, signal }))
  const asked = messages.findIndex(({ id }) => id === messageId)
  return asked === -1 ? null : (messages.slice(asked + 1).find(({ sender }) => sender === 'agent')?.content ?? null)
}
