import { expect, test } from 'bun:test'
import { AppError } from '../../../src/core/errors.ts'
import { write } from '../../../src/db/write.ts'
import { insertAgent, openTokens } from '../../../src/features/agents/registry/agents.ts'
import { heartbeatJob } from '../../../src/features/conversations/heartbeat/heartbeat.ts'
import { readMail, receiveMail } from '../../../src/features/conversations/inbox/receive.ts'
import { inboxMessages } from '../../../src/features/conversations/inbox/tables.ts'
import { scheduledTasksJob } from '../../../src/features/conversations/scheduled-tasks/jobs.ts'
import { scheduledRuns } from '../../../src/features/conversations/scheduled-tasks/tables.ts'
import { bearer, json } from '../../harness/requests.ts'
import { until } from '../../harness/until.ts'
import { sleepyPlatform } from './sleepy-platform.ts'

type World = Awaited<ReturnType<typeof sleepyPlatform>>

const NEVER = new AbortController().signal

function endOfRun({ platform }: World) {
  return until('the end of the run', () => {
    const run = platform.db.select().from(scheduledRuns).get()
    return run && run.status !== 'queued' && run.status !== 'running' ? run : null
  })
}

async function addTask(world: World): Promise<void> {
  const task = { name: 'News', cronSchedule: '0 * * * *', prompt: 'Read the news', agentId: world.id }
  const added = await world.web.request('/api/scheduled-tasks', json('POST', task, world.cookie))
  expect(added.status).toBe(201)
}

test('a due scheduled task wakes its agent, which executes it', async () => {
  await using world = await sleepyPlatform()
  await addTask(world)
  await world.fallAsleep()
  world.clock.advance(3_600_000)
  await scheduledTasksJob(world.platform).run(NEVER)
  expect(await endOfRun(world)).toMatchObject({ status: 'succeeded', error: null })
  expect(world.calls).toEqual(['deploy', 'stop', 'deploy'])
})

test('a scheduled task is retried when its agent does not wake', async () => {
  await using world = await sleepyPlatform()
  await addTask(world)
  await world.fallAsleep()
  world.setAvailable(false)
  world.clock.advance(3_600_000)
  await scheduledTasksJob(world.platform).run(NEVER)
  const waiting = await until('a first try', () => {
    const run = world.platform.db.select().from(scheduledRuns).get()
    return run?.error ? run : null
  })
  expect(waiting).toMatchObject({ status: 'running', error: expect.stringContaining('could not be woken') })
  expect(world.status()).toBe('sleeping')
})

test('POST /api/heartbeat: 200, and a heartbeat wakes its agent', async () => {
  await using world = await sleepyPlatform()
  const wanted = { frequency: '1h', enabled: true }
  expect((await world.web.request('/api/heartbeat', json('POST', wanted, world.cookie))).status).toBe(200)
  await world.fallAsleep()
  world.clock.advance(3_600_000)
  await heartbeatJob(world.platform).run(NEVER)
  expect(await endOfRun(world)).toMatchObject({ trigger: 'heartbeat', status: 'succeeded' })
})

test('a mail wakes its agent', async () => {
  await using world = await sleepyPlatform({ EMAIL_ALLOWED_SENDERS: 'bob@example.com' })
  await world.fallAsleep()
  const mail = { from: 'bob@example.com', to: `${world.id}@stead.example`, subject: 'Tea', body: 'At four?' }
  const outcome = await write(world.platform.db, (tx) =>
    receiveMail(world.platform, tx, readMail({ ...mail, authentication: null, headers: [], messageId: null }), {
      text: mail.body ?? '',
      files: [],
    }),
  )
  expect(outcome).toBe('processed')
  const delivered = await until('its delivery', () => {
    const found = world.platform.db.select().from(inboxMessages).get()
    return found?.status === 'queued' ? null : found
  })
  expect(delivered).toMatchObject({ status: 'delivered', reply: world.reply })
  expect(world.status()).toBe('running')
})

test('POST /v1/agents/:id/messages: 200, and a message of another agent wakes it', async () => {
  await using world = await sleepyPlatform()
  await world.fallAsleep()
  const { db, sealer } = world.platform
  const kind = { name: 'Bo', model: 'm', plan: 'label', aiProvider: 'openrouter', status: 'running' } as const
  const other = await write(db, (tx) => insertAgent(world.platform, tx, { ...kind, ownerId: world.row().ownerId }))
  const asOther = bearer(openTokens(sealer, other).accessToken)
  const response = await world.backend.request(
    `/v1/agents/${world.id}/messages`,
    json('POST', { message: 'Hello' }, asOther),
  )
  expect([response.status, await response.json()]).toEqual([200, { reply: world.reply }])
  expect(world.status()).toBe('running')
})

test('POST /api/chat: 503 with the reason when the agent does not wake', async () => {
  await using world = await sleepyPlatform()
  await world.fallAsleep()
  world.failDeploy(new AppError('conflict', 'Its folder is gone'))
  const body = { agentId: world.id, message: 'Hello' }
  const response = await world.web.request('/api/chat', json('POST', body, world.cookie))
  expect([response.status, await response.json()]).toEqual([
    503,
    expect.objectContaining({ error: 'The agent could not be woken: Its folder is gone' }),
  ])
})
