import { expect, test } from 'bun:test'
import { createAgent, signIn, signUp } from '../../../../tests/harness/client.ts'
import { startProvider } from '../../../../tests/harness/doubles/provider.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { openInstallation } from '../../../../tests/harness/server.ts'
import { openTalkingService } from '../../../../tests/harness/services/talking-service.ts'
import { until } from '../../../../tests/harness/until.ts'
import { MessageList } from '../chat/schemas.ts'
import { Task, TaskRun, TaskRunList } from './schemas.ts'

type Person = Awaited<ReturnType<typeof signUp>>

const runsOf = async (person: Person, id: string) =>
  (await read(TaskRunList, person.get(`/api/scheduled-tasks/${id}/runs`))).runs

test('scheduled run: a real agent gets the prompt; the conversation is stored and the tokens are counted', async () => {
  await using service = await openTalkingService({ text: ['The news ', 'is good.'] })
  const { server, person, agentId } = service
  const request = { name: 'News', cronSchedule: '* * * * * *', prompt: 'Read the news', agentId }
  const task = await read(Task, person.post('/api/scheduled-tasks', request))
  const run = await until('a run by the clock', async () =>
    (await runsOf(person, task.id)).find(({ status }) => status === 'succeeded'),
  )
  const off = json('PUT', { taskId: task.id, enabled: false }, person.cookie)
  expect(await read(Task, fetch(`${server.urls.web}/api/scheduled-tasks`, off))).toMatchObject({ nextRun: null })
  expect(run).toMatchObject({ trigger: 'schedule', error: null })
  const { messages } = await read(MessageList, person.get('/api/chat'))
  expect(messages.slice(0, 2)).toMatchObject([
    { id: run.messageId, sender: 'user', content: 'Read the news', topic: 'scheduled', status: 'sent' },
    { sender: 'agent', content: 'The news is good.', topic: 'scheduled' },
  ])
  const usage: unknown = await until('the usage', async () => {
    const body: unknown = await (await person.get('/api/dashboard/cost')).json()
    return JSON.stringify(body).includes('"isMockData":true') ? null : body
  })
  expect(JSON.stringify(usage)).toContain('openai/gpt-4o-mini')
}, 300_000)

test('scheduled run: ends with one answer when the server is killed during it', async () => {
  await using provider = await startProvider()
  const gate = Promise.withResolvers<void>()
  provider.answerWith(async () => {
    await gate.promise
    return {}
  })
  await using installation = await openInstallation({
    environment: { OPENROUTER_API_KEY: 'k', OPENROUTER_BASE_URL: provider.baseUrl },
  })
  const first = await installation.start()
  const person = await signUp(first.urls.web)
  const agentId = await createAgent(person, { model: 'openai/gpt-4o-mini' })
  const request = { name: 'News', cronSchedule: '0 0 1 1 *', prompt: 'Read the news', agentId }
  const task = await read(Task, person.post('/api/scheduled-tasks', request))
  await read(TaskRun, person.post(`/api/scheduled-tasks/${task.id}/run`, {}))
  await until('the call of the agent', () => provider.chats.length === 1)
  await first.kill()
  gate.resolve()
  const second = await installation.start()
  const again = await signIn(second.urls.web)
  const [run] = await until('the end of the run', async () => {
    const runs = await runsOf(again, task.id)
    return runs[0]?.finishedAt ? runs : null
  })
  expect(run).toMatchObject({ error: null })
  const shown = await read(MessageList, again.get('/api/chat'))
  expect(shown.messages.map(({ sender, status }) => [sender, status])).toEqual([
    ['user', 'sent'],
    ['agent', 'sent'],
  ])
  expect(shown.messages[1]?.turn).toMatchObject({ restarts: 1 })
  expect(provider.chats).toHaveLength(2)
  await second.stop()
}, 300_000)
