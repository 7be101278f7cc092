import { expect, test } from 'bun:test'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { insertAgent, openTokens } from '../../agents/registry/agents.ts'
import { Task, TaskList } from './schemas.ts'

const PATH = '/v1/scheduled-tasks'
const DAILY = { name: 'News', cronSchedule: '0 9 * * *', prompt: 'Read the news' }

/** Creates Ada with two agents, each with its own token. */
async function withAgents() {
  const test = testPlatform()
  const { sealer, db } = test.platform
  const ada = await test.signIn('ada@example.com')
  const add = async (name: string) => {
    const kind = { name, model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
    const row = await write(db, (tx) =>
      insertAgent({ clock: test.clock, sealer }, tx, { ...kind, ownerId: ada.user.id }),
    )
    return { id: row.id, headers: bearer(openTokens(sealer, row).accessToken) }
  }
  return { ...test, ada, first: await add('First'), second: await add('Second') }
}

test('POST /v1/scheduled-tasks: 201 with a task of the agent, which GET /v1/scheduled-tasks and its owner list', async () => {
  const { backend, web, ada, first, second } = await withAgents()
  const response = await backend.request(PATH, json('POST', DAILY, first.headers))
  expect(response.status).toBe(201)
  const task = Task.parse(await response.json())
  expect(task).toMatchObject({ ...DAILY, agentId: first.id, enabled: true })
  const list = async (headers: Record<string, string>) =>
    (await read(TaskList.pick({ tasks: true }), backend.request(PATH, { headers }))).tasks
  expect(await list(first.headers)).toEqual([task])
  expect(await list(second.headers)).toEqual([])
  const { tasks } = await read(TaskList, web.request('/api/scheduled-tasks', { headers: ada.cookie }))
  expect(tasks).toEqual([task])
})

test('POST /v1/scheduled-tasks/:id/cancel: 200 disables it; 404 for another agent, 401 without a token', async () => {
  const { backend, first, second } = await withAgents()
  const task = await read(Task, backend.request(PATH, json('POST', DAILY, first.headers)))
  const cancel = (headers: Record<string, string>) =>
    backend.request(`${PATH}/${task.id}/cancel`, { method: 'POST', headers })
  expect((await cancel(second.headers)).status).toBe(404)
  expect((await cancel({})).status).toBe(401)
  expect(await read(Task, cancel(first.headers))).toMatchObject({ id: task.id, enabled: false })
  expect(
    (await read(TaskList.pick({ tasks: true }), backend.request(PATH, { headers: first.headers }))).tasks,
  ).toMatchObject([{ id: task.id, enabled: false }])
})
