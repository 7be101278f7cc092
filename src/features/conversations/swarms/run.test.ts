import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { startAgentDouble } from '../../../../tests/harness/doubles/agent.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { findFreePorts } from '../../../../tests/harness/ports.ts'
import { json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { createJobQueue } from '../../../jobs/queue.ts'
import { jobs } from '../../../jobs/tables.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { MessageList } from '../chat/schemas.ts'
import { messages } from '../chat/tables.ts'
import { askJob } from './ask.ts'
import { Swarm, SwarmRun, SwarmRunList } from './schemas.ts'
import { swarmAnswers } from './tables.ts'

type NewMember = { name: string; port: number; role?: string; prompt?: string }

/** Creates Ada with a swarm of agents on the given ports; the named one summarizes. The test runs the jobs. */
async function withSwarm(members: NewMember[], summarizerName?: string) {
  const test = testPlatform()
  const { platform, clock } = test
  const ada = await test.signIn()
  const post = (path: string, content: unknown = {}) => test.web.request(path, json('POST', content, ada.cookie))
  const get = (path: string) => test.web.request(path, { headers: ada.cookie })
  const added = await write(platform.db, (tx) =>
    members.map(({ name, port, ...member }) => {
      const kind = { name, model: 'm', plan: 'solo', aiProvider: 'openrouter', status: 'running' } as const
      const { id } = insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: ada.user.id })
      tx.update(agents).set({ port }).where(eq(agents.id, id)).run()
      return { name, member: { id, ...member } }
    }),
  )
  const summarizer = added.find(({ name }) => name === summarizerName)?.member.id
  const request = { name: 'Swarm', agents: added.map(({ member }) => member), summarizer }
  const swarm = await read(Swarm, post('/api/swarms', request))
  const path = `/api/swarms/${swarm.id}`
  const show = (id: string) => read(SwarmRun, get(`${path}/runs/${id}`))
  return {
    ...test,
    userId: ada.user.id,
    agentIds: added.map(({ member }) => member.id),
    get,
    swarmId: swarm.id,
    runs: () => read(SwarmRunList, get(`${path}/runs`)),
    run: (task: string) => read(SwarmRun, post(`${path}/run`, { task })),
    cancel: (id: string) => read(SwarmRun, post(`${path}/runs/${id}/cancel`)),
    remove: () => test.web.request(path, { method: 'DELETE', headers: ada.cookie }),
    show,
    finished: (id: string) =>
      until('the end of the run', async () => {
        const run = await show(id)
        return run.state === 'running' ? null : run
      }),
  }
}

const statesOf = (run: SwarmRun) => run.agents.map(({ state }) => state)

test('POST /api/swarms/:id/run: 202, every agent answers for its owner, and the run is completed', async () => {
  await using one = startAgentDouble(({ message }) => `one: ${message}`)
  await using two = startAgentDouble(({ message }) => `two: ${message}`)
  const swarm = await withSwarm([
    { name: 'One', port: one.port },
    { name: 'Two', port: two.port, role: 'critic', prompt: 'Be short.' },
  ])
  const started = await swarm.run('Think')
  expect(started).toMatchObject({ state: 'running', task: 'Think', swarmId: swarm.swarmId, finishedAt: null })
  expect(statesOf(started)).toEqual(['queued', 'queued'])

  await using _jobs = startJobs(swarm.platform)
  const run = await swarm.finished(started.id)
  const at = swarm.clock.now().toISOString()
  const ended = { state: 'completed', error: null, durationMs: 0, startedAt: at, finishedAt: at } as const
  expect(run).toEqual({
    id: started.id,
    swarmId: swarm.swarmId,
    task: 'Think',
    state: 'completed',
    startedAt: at,
    finishedAt: at,
    agents: [
      { ...ended, agentId: swarm.agentIds[0] ?? '', name: 'One', result: 'one: Think' },
      {
        ...ended,
        agentId: swarm.agentIds[1] ?? '',
        name: 'Two',
        result: 'two: Your role: critic\n\nBe short.\n\nThink',
      },
    ],
    summarizer: null,
    summary: null,
    summaryError: null,
  })
  expect(one.questions[0]?.sessionKey).toEndWith(`:swarm:${swarm.swarmId}`)
  const list = await read(MessageList, swarm.get(`/api/chat?agentId=${swarm.agentIds[0]}`))
  expect(list.messages.map(({ sender, topic }) => [sender, topic])).toEqual([
    ['user', `swarm:${run.id}`],
    ['agent', `swarm:${run.id}`],
  ])
  expect((await swarm.runs()).runs).toMatchObject([{ id: run.id, state: 'completed' }])
})

test('swarm run: keeps answers and errors when some agents fail', async () => {
  await using good = startAgentDouble(() => 'fine')
  await using bad = startAgentDouble(() => Response.json({ error: 'The model broke' }, { status: 502 }))
  const [unusedPort = 0] = await findFreePorts(1)
  const swarm = await withSwarm([
    { name: 'Good', port: good.port },
    { name: 'Bad', port: bad.port },
    { name: 'Gone', port: unusedPort },
  ])
  await using _jobs = startJobs(swarm.platform)
  const run = await swarm.finished((await swarm.run('Think')).id)
  expect(run).toMatchObject({
    state: 'partially_failed',
    agents: [
      { state: 'completed', result: 'fine', error: null },
      { state: 'failed', result: null, error: 'The model broke' },
      { state: 'failed', result: null, error: 'The agent is not reachable' },
    ],
  })
  const kinds = swarm.platform.db.select({ errorKind: swarmAnswers.errorKind }).from(swarmAnswers).all()
  expect(kinds.map(({ errorKind }) => errorKind)).toEqual([null, 'upstream_failed', 'unavailable'])
})

test('swarm run: fails when no agent answers, one deleted and one stopped', async () => {
  const swarm = await withSwarm([
    { name: 'Deleted', port: 1 },
    { name: 'Stopped', port: 2 },
  ])
  const [deleted = '', stopped = ''] = swarm.agentIds
  await write(swarm.platform.db, (tx) => {
    tx.delete(agents).where(eq(agents.id, deleted)).run()
    tx.update(agents).set({ status: 'stopped' }).where(eq(agents.id, stopped)).run()
  })
  await using _jobs = startJobs(swarm.platform)
  expect(await swarm.finished((await swarm.run('Think')).id)).toMatchObject({
    state: 'failed',
    agents: [
      { agentId: deleted, state: 'failed', error: 'Agent not found' },
      { agentId: stopped, state: 'failed', error: 'Agent is not running' },
    ],
  })
})

test('swarm run: sends nothing to agents when the account is disabled', async () => {
  await using one = startAgentDouble(() => 'hello')
  const swarm = await withSwarm([{ name: 'One', port: one.port }])
  const { id } = await swarm.run('Think')
  const { db, clock } = swarm.platform
  await write(db, (tx) => tx.update(users).set({ disabledAt: clock.now() }).run())
  await using _jobs = startJobs(swarm.platform)
  const failed = await until('the failure', () =>
    db.select().from(swarmAnswers).where(eq(swarmAnswers.state, 'failed')).get(),
  )
  expect(failed).toMatchObject({ runId: id, error: 'The account is closed', errorKind: 'forbidden' })
  expect(one.questions).toEqual([])
})

test('swarm run: sends all answers to the summarizer, which writes the summary', async () => {
  await using one = startAgentDouble(() => 'Tea is good.')
  await using boss = startAgentDouble(({ message }) =>
    message.includes('Sum up') ? `In short: ${message.includes('Tea is good.')}` : 'Coffee is good.',
  )
  const members = [
    { name: 'One', port: one.port },
    { name: 'Boss', port: boss.port },
  ]
  const swarm = await withSwarm(members, 'Boss')
  await using _jobs = startJobs(swarm.platform)
  const run = await swarm.finished((await swarm.run('What is good?')).id)
  expect(run).toMatchObject({ state: 'completed', summarizer: swarm.agentIds[1], summary: 'In short: true' })
  const asked = boss.questions.at(-1)?.message ?? ''
  for (const part of ['What is good?', '## One\nTea is good.', '## Boss\nCoffee is good.'])
    expect(asked).toContain(part)
  expect(boss.questions).toHaveLength(2)
})

test('swarm run: keeps the answers and the error when the summarizer fails', async () => {
  await using one = startAgentDouble(({ message }) =>
    message.includes('Sum up') ? Response.json({ error: 'Out of words' }, { status: 502 }) : 'Tea',
  )
  const swarm = await withSwarm([{ name: 'One', port: one.port }], 'One')
  await using _jobs = startJobs(swarm.platform)
  expect(await swarm.finished((await swarm.run('Think')).id)).toMatchObject({
    state: 'partially_failed',
    agents: [{ state: 'completed', result: 'Tea' }],
    summary: null,
    summaryError: 'Out of words',
  })
})

test('swarm run: interrupts the answering agent when it is cancelled; a late cancellation changes nothing', async () => {
  const aborted = Promise.withResolvers<void>()
  await using slow = startAgentDouble(async ({ signal }) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    aborted.resolve()
    return 'too late'
  })
  await using quick = startAgentDouble(() => 'quick')
  const swarm = await withSwarm([
    { name: 'Slow', port: slow.port },
    { name: 'Quick', port: quick.port },
  ])
  await using _jobs = startJobs(swarm.platform)
  const { id } = await swarm.run('Think')
  await until('one answer and one question', async () => {
    const { agents: answers } = await swarm.show(id)
    return answers[1]?.state === 'completed' && slow.questions.length === 1
  })
  const cancelled = await swarm.cancel(id)
  expect(cancelled.state).toBe('cancelled')
  expect(statesOf(cancelled)).toEqual(['cancelled', 'completed'])
  await aborted.promise
  await until('the end of the jobs', () => jobStates(swarm).every((state) => state === 'done'))
  expect(await swarm.cancel(id)).toEqual(cancelled)
})

test('swarm run: is deleted, and its jobs end, when the swarm is deleted', async () => {
  await using slow = startAgentDouble(async ({ signal }) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    return ''
  })
  const swarm = await withSwarm([{ name: 'Slow', port: slow.port }])
  await using _jobs = startJobs(swarm.platform)
  await swarm.run('Think')
  await until('the question', () => slow.questions.length === 1)
  expect((await swarm.remove()).status).toBe(200)
  await until('the end of the jobs', () => jobStates(swarm).every((state) => state === 'done'))
  expect(swarm.platform.db.select().from(swarmAnswers).all()).toEqual([])
})

test('swarm run: continues after a crash without repeating agents that have answered', async () => {
  await using one = startAgentDouble(() => 'once')
  await using two = startAgentDouble(() => 'twice')
  const swarm = await withSwarm([
    { name: 'One', port: one.port },
    { name: 'Two', port: two.port },
  ])
  const { id } = await swarm.run('Think')
  // State of a process that died after the answer of one, before it was stored, and while two was answering.
  await write(swarm.platform.db, (tx) => {
    const agentId = swarm.agentIds[0] ?? ''
    const answered = { id: 'msg_1', userId: swarm.userId, agentId, topic: `swarm:${id}`, content: 'before the crash' }
    tx.insert(messages)
      .values({ ...answered, sender: 'agent', status: 'sent', createdAt: swarm.clock.now() })
      .run()
    tx.update(swarmAnswers).set({ state: 'running', startedAt: swarm.clock.now() }).run()
  })
  await using _jobs = startJobs(swarm.platform)
  expect(await swarm.finished(id)).toMatchObject({
    state: 'completed',
    agents: [{ result: 'before the crash' }, { result: 'twice' }],
  })
  expect([one.questions.length, two.questions.length]).toEqual([0, 1])
})

test('swarm run: leaves the task for the next start when the server stops', async () => {
  const asked = Promise.withResolvers<void>()
  let isFirst = true
  await using one = startAgentDouble(async ({ signal }) => {
    if (!isFirst) return 'after the restart'
    isFirst = false
    asked.resolve()
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    return ''
  })
  const swarm = await withSwarm([{ name: 'One', port: one.port }])
  const { id } = await swarm.run('Think')
  const stopped = startJobs(swarm.platform)
  await asked.promise
  await stopped[Symbol.asyncDispose]()
  expect(statesOf(await swarm.show(id))).toEqual(['running'])

  const { db, clock, log } = swarm.platform
  const queue = createJobQueue({ db, clock, log })
  queue.start([askJob({ ...swarm.platform, enqueue: queue.enqueue })])
  expect(await swarm.finished(id)).toMatchObject({ state: 'completed', agents: [{ result: 'after the restart' }] })
  await queue.stop()
})

function jobStates({ platform }: { platform: { db: ReturnType<typeof testPlatform>['platform']['db'] } }) {
  return platform.db
    .select({ status: jobs.status })
    .from(jobs)
    .all()
    .map(({ status }) => status)
}
