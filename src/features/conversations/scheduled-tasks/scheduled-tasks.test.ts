import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startHeldAgentDouble } from '../../../../tests/harness/doubles/held-agent.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { findFreePorts } from '../../../../tests/harness/ports.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { countRows } from '../../../../tests/harness/rows/dump.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { messages } from '../chat/tables.ts'
import { scheduledTasksJob } from './jobs.ts'
import { listTaskRuns } from './runs.ts'
import { Task, TaskList, TaskRun, TaskRunList } from './schemas.ts'
import { scheduledRuns, scheduledTasks } from './tables.ts'

const DAILY = { name: 'News', cronSchedule: '0 9 * * *', prompt: 'Read the news' }
/** Clock for delayed runs: after a minute of it the queue takes a job back. */
const EVERY_SECOND = '* * * * * *'
const BAD_CRON = 'Invalid cron schedule. Expected 5-6 fields (e.g., "0 9 * * *")'
const MISSING = 'name, cronSchedule, prompt, and agentId are required'

/** Creates Ada with an agent that answers, and Eve with nothing; it is noon of 20 November 2026. */
async function withAgent(change: Partial<AgentRow> = {}) {
  const test = testPlatform()
  const { platform, clock, web } = test
  clock.set(new Date('2026-11-20T12:00:00Z'))
  // A port that no other test takes while the agent is away.
  const [port = 0] = await findFreePorts(1)
  const agent = startHeldAgentDouble(port)
  const ada = await test.signIn('ada@example.com')
  const eve = await test.signIn('eve@example.com')
  const addAgent = (name: string, ownerId = ada.user.id) =>
    write(platform.db, (tx) => {
      const kind = { name, model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
      const row = { ...kind, ...change, ownerId, port: name === 'Ada' ? (change.port ?? agent.port) : null }
      return insertAgent({ clock, sealer: platform.sealer }, tx, row)
    })
  const { id: agentId } = await addAgent('Ada')
  const job = scheduledTasksJob(platform)
  const ask = (method: 'POST' | 'PUT' | 'DELETE', body: unknown, who = ada) =>
    web.request('/api/scheduled-tasks', json(method, body, who.cookie))
  return {
    ...test,
    agent,
    ada,
    eve,
    agentId,
    addAgent,
    ask,
    create: (body: object = {}, who = ada) => read(Task, ask('POST', { ...DAILY, agentId, ...body }, who)),
    list: (query = '', who = ada) =>
      read(TaskList, web.request(`/api/scheduled-tasks${query}`, { headers: who.cookie })),
    runNow: (id: string, who = ada) =>
      web.request(`/api/scheduled-tasks/${id}/run`, { method: 'POST', headers: who.cookie }),
    runs: async (id: string) =>
      (await read(TaskRunList, web.request(`/api/scheduled-tasks/${id}/runs`, { headers: ada.cookie }))).runs,
    /** Runs the periodic job once. */
    check: () => job.run(new AbortController().signal),
  }
}

test('POST /api/scheduled-tasks: 201 with the task and its next run', async () => {
  const { ask, agentId, clock } = await withAgent()
  const response = await ask('POST', { ...DAILY, agentId, description: ' Every morning ', ownerId: 'x' })
  expect(response.status).toBe(201)
  expect(await response.json()).toEqual({
    id: expect.stringMatching(/^task_/),
    ...DAILY,
    description: 'Every morning',
    timezone: 'UTC',
    enabled: true,
    lastRun: null,
    nextRun: '2026-11-21T09:00:00.000Z',
    agentId,
    createdAt: clock.now().toISOString(),
    updatedAt: clock.now().toISOString(),
  })
})

test.each([
  ['0 9 * * *', 'America/New_York', '2026-11-20T14:00:00.000Z'],
  ['*/15 * * * *', 'UTC', '2026-11-20T12:15:00.000Z'],
  ['30 0 12 * * *', 'UTC', '2026-11-20T12:00:30.000Z'],
  ['0 0 29 2 *', 'UTC', '2028-02-29T00:00:00.000Z'],
  ['0 0 29 2 +SUN', 'UTC', '2032-02-29T00:00:00.000Z'],
  ['0 9 * * MON-FRI', 'Europe/Berlin', '2026-11-23T08:00:00.000Z'],
])('POST /api/scheduled-tasks: with %s in %s, 201 with the next run %s', async (cronSchedule, timezone, nextRun) => {
  const { create } = await withAgent()
  expect(await create({ cronSchedule, timezone })).toMatchObject({ cronSchedule, timezone, nextRun })
})

test.each([
  ['in 10 minutes', undefined, '@at 2026-11-20T12:10:00.000Z'],
  ['In 2 hours', undefined, '@at 2026-11-20T14:00:00.000Z'],
  ['in 1 day', 'Europe/Berlin', '@at 2026-11-21T12:00:00.000Z'],
  ['every 15 minutes', undefined, '@every 15m'],
  ['2026-12-01T09:00', undefined, '@at 2026-12-01T00:00:00.000Z'],
  ['2026-12-01 09:00:30', 'Europe/Berlin', '@at 2026-12-01T08:00:30.000Z'],
  ['2026-12-01T09:00:00+01:00', undefined, '@at 2026-12-01T08:00:00.000Z'],
  ['2026-12-01T09:00:00Z', 'Europe/Berlin', '@at 2026-12-01T09:00:00.000Z'],
  ['@at 2026-12-01T09:00', 'America/New_York', '@at 2026-12-01T14:00:00.000Z'],
  ['2026-11-20T11:59:30Z', undefined, '@at 2026-11-20T12:00:01.000Z'],
])(
  'POST and PUT /api/scheduled-tasks: with %s in the zone %s, 201 stored as %s',
  async (cronSchedule, timezone, stored) => {
    const { ask, create, web, ada } = await withAgent()
    await web.request('/api/settings', json('PATCH', { timeZone: 'Asia/Tokyo' }, ada.cookie))
    const task = await create({ cronSchedule, timezone })
    expect(task).toMatchObject({ cronSchedule: stored, timezone: timezone ?? 'Asia/Tokyo' })
    if (stored.startsWith('@at ')) expect(task.nextRun).toBe(stored.slice('@at '.length))
    const other = await create({ timezone })
    expect(await read(Task, ask('PUT', { taskId: other.id, cronSchedule }))).toMatchObject({ cronSchedule: stored })
  },
)

test.each([
  [
    '2026-11-20T09:00',
    /^2026-11-20T09:00 has passed: it is Friday, 20 November 2026, 13:00 \(Europe\/Berlin, GMT\+1\)/,
  ],
  ['@at 2020-01-01T00:00:00Z', /^@at 2020-01-01T00:00:00Z has passed/],
  ['in 0 minutes', /use at least 1 minute$/],
  ['2026-13-01T09:00', /^There is no such time/],
  ['2026-11-31T09:00', /^There is no such time/],
])('POST /api/scheduled-tasks: 400 with the reason for %s', async (cronSchedule, message) => {
  const { ask, agentId, platform } = await withAgent()
  const response = await ask('POST', { ...DAILY, agentId, cronSchedule, timezone: 'Europe/Berlin' })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: expect.stringMatching(message) })
  expect(countRows(platform.db).scheduled_tasks).toBe(0)
})

test.each([
  '* * * *',
  '* * * * * * *',
  '99 99 * * *',
  '60 * * * *',
  'a b c d e',
  '@daily',
  '0 0 30 2 *',
  '*/0 * * * *',
  '0 0 15W * +MON#5',
  '59 59 23 31 4 * 2027',
])('POST and PUT /api/scheduled-tasks: 400 when the schedule is %s', async (cronSchedule) => {
  const { ask, agentId, create, platform } = await withAgent()
  const refused = await ask('POST', { ...DAILY, agentId, cronSchedule })
  expect(refused.status).toBe(400)
  expect(await refused.json()).toEqual({ error: BAD_CRON, reason: expect.any(String) })
  expect(countRows(platform.db).scheduled_tasks).toBe(0)
  const task = await create()
  const unchanged = await ask('PUT', { taskId: task.id, cronSchedule })
  expect(unchanged.status).toBe(400)
  expect(await unchanged.json()).toMatchObject({ error: BAD_CRON })
})

test.each<[object, string]>([
  [{ name: undefined }, MISSING],
  [{ name: ' ' }, MISSING],
  [{ cronSchedule: undefined }, MISSING],
  [{ prompt: 7 }, MISSING],
  [{ agentId: undefined }, MISSING],
  [{ name: 'x'.repeat(101) }, 'name must be at most 100 characters'],
  [{ prompt: 'x'.repeat(20_001) }, 'prompt must be at most 20000 characters'],
  [{ enabled: 'yes' }, 'enabled must be true or false'],
  [{ timezone: 'Mars/Base' }, 'timezone must be an IANA time zone such as Europe/Berlin'],
  [{ timezone: '+02:00' }, 'timezone must be an IANA time zone such as Europe/Berlin'],
])('POST /api/scheduled-tasks: 400 for invalid body %#, and nothing is stored', async (change, error) => {
  const { ask, agentId, platform } = await withAgent()
  const response = await ask('POST', { ...DAILY, agentId, ...change })
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ error })
  expect(countRows(platform.db).scheduled_tasks).toBe(0)
})

test('POST /api/scheduled-tasks: 404 when the agent is missing or another user’s', async () => {
  const { ask, agentId, eve } = await withAgent()
  for (const [id, who] of [['missing', undefined] as const, [agentId, eve] as const]) {
    const response = await ask('POST', { ...DAILY, agentId: id }, who)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({ error: 'Agent not found' })
  }
})

test('POST /api/scheduled-tasks: 429 at 50 tasks, also when 60 requests are concurrent', async () => {
  const { ask, agentId, list } = await withAgent()
  const answers = await Promise.all(Array.from({ length: 60 }, () => ask('POST', { ...DAILY, agentId })))
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(50)
  expect(await answers.find(({ status }) => status === 429)?.json()).toEqual({
    error: 'Scheduled task limit reached (max 50)',
  })
  expect((await list()).count).toBe(50)
})

test('GET /api/scheduled-tasks: 200 newest first, limited by agentId, without other users’ tasks', async () => {
  const { create, list, addAgent, agentId, eve, clock } = await withAgent()
  const { id: otherId } = await addAgent('Bo')
  const first = await create()
  clock.advance(1)
  const second = await create({ agentId: otherId })
  expect(await list()).toEqual({ tasks: [second, first], count: 2 })
  expect(await list(`?agentId=${agentId}`)).toEqual({ tasks: [first], count: 1 })
  expect(await list('', eve)).toEqual({ tasks: [], count: 0 })
  expect(await list(`?agentId=${agentId}`, eve)).toEqual({ tasks: [], count: 0 })
})

test('PUT /api/scheduled-tasks: 200 and the next run changes only with the schedule', async () => {
  const { create, ask, clock } = await withAgent()
  const task = await create()
  clock.advance(86_400_000)
  const change = (body: object) => read(Task, ask('PUT', { taskId: task.id, ...body }))
  expect(await change({ name: 'Mail', description: null })).toMatchObject({ name: 'Mail', nextRun: task.nextRun })
  expect(await change({ enabled: false })).toMatchObject({ enabled: false, nextRun: null })
  expect(await change({ cronSchedule: '0 8 * * *' })).toMatchObject({ nextRun: null })
  expect(await change({ enabled: true })).toMatchObject({ nextRun: '2026-11-22T08:00:00.000Z' })
  expect(await change({ timezone: 'Asia/Tokyo' })).toMatchObject({ nextRun: '2026-11-21T23:00:00.000Z' })
})

test.each(['PUT', 'DELETE'] as const)(
  '%s /api/scheduled-tasks: 400 without a task, 404 for another user’s',
  async (method) => {
    const { create, ask, eve, list } = await withAgent()
    const task = await create()
    const nameless = await ask(method, { name: 'Mine' })
    expect([nameless.status, await nameless.json()]).toEqual([400, { error: 'taskId required' }])
    for (const [taskId, who] of [['task_missing', undefined] as const, [task.id, eve] as const]) {
      const response = await ask(method, { taskId, name: 'Mine' }, who)
      expect([response.status, await response.json()]).toEqual([404, { error: 'Task not found' }])
    }
    expect(await list()).toEqual({ tasks: [task], count: 1 })
  },
)

test('DELETE /api/scheduled-tasks: 200, and the task is deleted with its history', async () => {
  const { create, ask, runNow, platform } = await withAgent()
  const task = await create()
  await runNow(task.id)
  const response = await ask('DELETE', { taskId: task.id })
  expect([response.status, await response.json()]).toEqual([200, { success: true, taskId: task.id }])
  expect(countRows(platform.db)).toMatchObject({ scheduled_tasks: 0, scheduled_runs: 0 })
})

test.each(['GET', 'POST', 'PUT', 'DELETE'] as const)(
  '%s /api/scheduled-tasks: 401 without a session',
  async (method) => {
    const { web } = testPlatform()
    const response = await web.request('/api/scheduled-tasks', method === 'GET' ? {} : json(method, { taskId: 'x' }))
    expect([response.status, await response.json()]).toEqual([401, { error: 'Unauthorized' }])
  },
)

test('GET /api/scheduled-tasks/:id/runs: 200 with one run when a task was due and sent its prompt for its owner', async () => {
  const { create, check, runs, agent, list, platform, clock, agentId, ada } = await withAgent()
  const task = await create()
  await using _jobs = startJobs(platform)
  await check()
  expect(await runs(task.id)).toEqual([])
  clock.set(new Date('2026-11-21T09:00:03Z'))
  await Promise.all([check(), check()])
  const [run] = await until('the end of the run', async () => {
    const all = await runs(task.id)
    return all[0]?.status === 'succeeded' ? all : null
  })
  await check()
  expect(await runs(task.id)).toHaveLength(1)
  const lines = platform.db.select().from(messages).all()
  expect(lines).toMatchObject([
    { userId: ada.user.id, agentId, sender: 'user', content: DAILY.prompt, topic: 'scheduled', status: 'sent' },
    { sender: 'agent', content: 'Done.', topic: 'scheduled' },
  ])
  expect(run).toEqual({
    id: expect.stringMatching(/^run_/),
    taskId: task.id,
    trigger: 'schedule',
    status: 'succeeded',
    dueAt: '2026-11-21T09:00:00.000Z',
    startedAt: '2026-11-21T09:00:03.000Z',
    finishedAt: '2026-11-21T09:00:03.000Z',
    durationMs: 0,
    messageId: lines[0]?.id ?? '',
    error: null,
  })
  expect(agent.prompts).toEqual([DAILY.prompt])
  expect((await list()).tasks[0]).toMatchObject({
    lastRun: '2026-11-21T09:00:03.000Z',
    nextRun: '2026-11-22T09:00:00.000Z',
  })
})

test('scheduled tasks: a task runs once when it was due many times, and clock changes start no extra runs', async () => {
  const { create, check, platform, clock, agent } = await withAgent()
  const task = await create({ cronSchedule: '* * * * *' })
  await using _jobs = startJobs(platform)
  // Uses the database, because no session lives that long.
  const runs = () => listTaskRuns(platform.db, task.id)
  const isIdle = () => until('no run under way', () => runs().every(({ finishedAt }) => finishedAt))
  await check()
  clock.set(new Date('2026-11-21T12:00:30Z'))
  for (let round = 0; round < 3; round++) await check()
  await isIdle()
  expect(runs().length).toBe(1)
  clock.set(new Date('2036-11-21T12:00:30Z'))
  for (let round = 0; round < 3; round++) await check()
  await isIdle()
  expect(runs().length).toBe(2)
  clock.set(new Date('2026-11-21T12:01:30Z'))
  for (let round = 0; round < 3; round++) await check()
  expect(runs().length).toBe(2)
  expect(platform.db.select().from(scheduledTasks).get()?.nextRunAt).toEqual(new Date('2026-11-21T12:02:00Z'))
  clock.set(new Date('2026-11-21T12:02:00Z'))
  await check()
  await isIdle()
  expect(runs().length).toBe(3)
  expect(agent.prompts).toHaveLength(3)
})

test('scheduled tasks: a task is skipped, which its history shows, when it is due during its last run', async () => {
  const { create, check, runs, platform, clock, agent, runNow } = await withAgent()
  const task = await create({ cronSchedule: EVERY_SECOND })
  await using _jobs = startJobs(platform)
  agent.hold()
  clock.advance(1000)
  await check()
  await until('the prompt', () => agent.prompts.length === 1)
  clock.advance(1000)
  await check()
  const busy = await runNow(task.id)
  expect([busy.status, await busy.json()]).toEqual([409, { error: 'The task is running already' }])
  agent.letGo()
  await until('the end of the run', async () => (await runs(task.id)).at(-1)?.status === 'succeeded')
  expect(await runs(task.id)).toMatchObject([
    { status: 'skipped', error: 'The run before it was still going', startedAt: null, messageId: null },
    { status: 'succeeded', durationMs: 1000 },
  ])
  clock.advance(1000)
  await check()
  await until('the next run', () => agent.prompts.length === 2)
})

test('POST /api/scheduled-tasks/:id/run: 202, also when the task is disabled, and its next run stays unchanged', async () => {
  const { create, runNow, runs, platform, agent, list, clock } = await withAgent()
  const task = await create({ enabled: false })
  const response = await runNow(task.id)
  expect(response.status).toBe(202)
  expect(TaskRun.parse(await response.json())).toMatchObject({ taskId: task.id, trigger: 'manual', status: 'running' })
  await using _jobs = startJobs(platform)
  await until('the end of the run', async () => (await runs(task.id))[0]?.status === 'succeeded')
  expect(agent.prompts).toEqual([DAILY.prompt])
  expect((await list()).tasks[0]).toMatchObject({ lastRun: clock.now().toISOString(), nextRun: null })
})

test('POST /api/scheduled-tasks/:id/run: 202 for one of 20 concurrent requests, 409 for the others', async () => {
  const { create, runNow, runs } = await withAgent()
  const task = await create()
  const answers = await Promise.all(Array.from({ length: 20 }, () => runNow(task.id)))
  expect(answers.map(({ status }) => status).sort()).toEqual([202, ...Array.from({ length: 19 }, () => 409)])
  expect(await runs(task.id)).toHaveLength(1)
})

test.each(['run', 'runs'])(
  '/api/scheduled-tasks/:id/%s: 404 when the task is missing or another user’s, 401 without a session',
  async (verb) => {
    const { create, web, eve, platform } = await withAgent()
    const task = await create()
    const method = verb === 'run' ? 'POST' : 'GET'
    for (const [id, headers, status] of [
      ['task_missing', eve.cookie, 404],
      [task.id, eve.cookie, 404],
      [task.id, {}, 401],
    ] as const) {
      const response = await web.request(`/api/scheduled-tasks/${id}/${verb}`, { method, headers })
      expect(response.status).toBe(status)
      expect(await response.json()).toEqual({ error: status === 404 ? 'Task not found' : 'Unauthorized' })
    }
    expect(countRows(platform.db).scheduled_runs).toBe(0)
  },
)

test('scheduled run: fails with the reason and sends nothing when the agent does not run', async () => {
  const { create, runNow, runs, platform, agent } = await withAgent({ status: 'stopped' })
  const task = await create()
  await runNow(task.id)
  await using _jobs = startJobs(platform)
  await until('the end of the run', async () => (await runs(task.id))[0]?.finishedAt)
  expect(await runs(task.id)).toMatchObject([{ status: 'failed', error: 'Agent is not running', messageId: null }])
  expect(agent.prompts).toEqual([])
})

test('scheduled run: fails with the agent’s error and is not retried', async () => {
  const { create, runNow, runs, platform, agent } = await withAgent()
  agent.answerWith(503)
  const task = await create()
  await runNow(task.id)
  await using _jobs = startJobs(platform)
  await until('the end of the run', async () => (await runs(task.id))[0]?.finishedAt)
  expect(await runs(task.id)).toMatchObject([{ status: 'failed', error: 'the agent says 503' }])
  expect(agent.prompts).toHaveLength(1)
})

test('scheduled run: is retried until the agent is reachable', async () => {
  const { create, runNow, runs, platform, agent, clock } = await withAgent()
  await agent.stop()
  const task = await create()
  await runNow(task.id)
  await using _jobs = startJobs(platform)
  await until('a first attempt', async () => (await runs(task.id))[0]?.error === 'The agent is not reachable')
  expect(await runs(task.id)).toMatchObject([{ status: 'running', messageId: null }])
  using back = reopen(agent.port)
  clock.advance(2000)
  await until('the end of the run', async () => (await runs(task.id))[0]?.status === 'succeeded')
  expect(back.calls).toBe(1)
})

test('scheduled run: fails after a few attempts to connect to the agent', async () => {
  const { create, runNow, runs, platform, agent, clock } = await withAgent()
  await agent.stop()
  const task = await create()
  await runNow(task.id)
  await using _jobs = startJobs(platform)
  await until('the end of the run', async () => {
    clock.advance(10_000)
    return (await runs(task.id))[0]?.finishedAt
  })
  expect(await runs(task.id)).toMatchObject([{ status: 'failed', error: 'The agent is not reachable' }])
})

test('scheduled run: does not send the prompt again when the server stopped during it', async () => {
  const { create, runNow, runs, platform, agent } = await withAgent()
  agent.hold()
  const task = await create()
  await runNow(task.id)
  {
    await using _jobs = startJobs(platform)
    await until('the prompt', () => agent.prompts.length === 1)
  }
  expect(await runs(task.id)).toMatchObject([{ status: 'failed', error: expect.stringContaining('Interrupted') }])
  expect(agent.prompts).toHaveLength(1)
})

test('scheduled run: does not send the prompt again when the server was killed during it', async () => {
  const { create, runNow, runs, platform, agent } = await withAgent()
  const task = await create()
  await runNow(task.id)
  // State after a kill: the prompt was stored and sent, its job has not ended.
  await write(platform.db, (tx) => tx.update(scheduledRuns).set({ messageId: 'msg_1' }).run())
  await using _jobs = startJobs(platform)
  await until('the end of the run', async () => (await runs(task.id))[0]?.finishedAt)
  expect(await runs(task.id)).toMatchObject([{ status: 'failed', error: expect.stringContaining('Interrupted') }])
  expect(agent.prompts).toEqual([])
})

test('scheduled runs: one user’s runs do not block another’s, and the history is limited', async () => {
  const { create, runNow, runs, platform, agent, clock, check } = await withAgent()
  const tasks = await Promise.all(Array.from({ length: 5 }, () => create({ cronSchedule: EVERY_SECOND })))
  agent.hold()
  await Promise.all(tasks.map(({ id }) => runNow(id)))
  await using _jobs = startJobs(platform)
  await until('two prompts', () => agent.prompts.length === 2)
  for (let second = 0; second < 55; second++) {
    clock.advance(1000)
    await check()
  }
  const histories = await Promise.all(tasks.map(({ id }) => runs(id)))
  expect(histories.map(({ length }) => length)).toEqual(tasks.map(() => 50))
  expect(countRows(platform.db).scheduled_runs).toBeLessThanOrEqual(51 * tasks.length)
  expect(agent.prompts).toHaveLength(2)
  agent.letGo()
  await until('all prompts', () => agent.prompts.length === 5)
})

test('scheduled tasks: tasks wait while their account is disabled', async () => {
  const { create, check, runs, platform, clock, ada } = await withAgent()
  const task = await create()
  const setDisabled = (disabledAt: Date | null) =>
    write(platform.db, (tx) => tx.update(users).set({ disabledAt }).where(eq(users.id, ada.user.id)).run())
  await setDisabled(clock.now())
  clock.advance(86_400_000)
  await check()
  await setDisabled(null)
  expect(await runs(task.id)).toEqual([])
  await check()
  expect(await runs(task.id)).toHaveLength(1)
})

/** Starts a server on the agent's port again. */
function reopen(port: number) {
  const state = { calls: 0 }
  const chunk = { choices: [{ index: 0, delta: { content: 'Back.' }, finish_reason: 'stop' }] }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    fetch() {
      state.calls++
      return new Response(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`, {
        headers: { 'content-type': 'text/event-stream' },
      })
    },
  })
  return {
    get calls() {
      return state.calls
    },
    [Symbol.dispose]: () => void server.stop(true),
  }
}
