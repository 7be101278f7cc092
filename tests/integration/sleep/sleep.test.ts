import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { AppError } from '../../../src/core/errors.ts'
import { write } from '../../../src/db/write.ts'
import { reconcileAgents } from '../../../src/features/agents/reconciliation/reconcile.ts'
import { findAgentRow } from '../../../src/features/agents/registry/agents.ts'
import { changeSettings } from '../../../src/features/agents/registry/config.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import { sleepJob } from '../../../src/features/agents/sleep/sleep.ts'
import { watchdogs } from '../../../src/features/agents/watchdog/tables.ts'
import { runWatchdog } from '../../../src/features/agents/watchdog/watch.ts'
import { json } from '../../harness/requests.ts'
import { until } from '../../harness/until.ts'
import { signalsOf, sleepyPlatform } from './sleepy-platform.ts'

const HALF_AN_HOUR = 30 * 60_000

describe('an idle agent', () => {
  test('sleeps after AGENT_SLEEP_MINUTES, without a process', async () => {
    await using world = await sleepyPlatform()
    world.clock.advance(HALF_AN_HOUR - 1)
    await world.letSleep()
    expect(world.status()).toBe('running')
    world.clock.advance(1)
    await world.letSleep()
    expect(world.status()).toBe('sleeping')
    expect(world.calls).toEqual(['deploy', 'stop'])
  })

  test('GET /api/agents/:id: 200 with sleeping on both APIs, without a notification', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    const shown = await world.web.request(`/api/agents/${world.id}`, { headers: world.cookie })
    expect(await shown.json()).toMatchObject({ agent: { status: 'sleeping', lastError: null } })
    const reported = await world.backend.request(`/api/agents/${world.id}`, { headers: world.operator })
    expect(await reported.json()).toMatchObject({ status: 'sleeping' })
    expect(world.countNotices()).toBe(0)
  })

  test('never sleeps with AGENT_SLEEP_MINUTES=0', async () => {
    await using world = await sleepyPlatform({ AGENT_SLEEP_MINUTES: '0' })
    world.clock.advance(1000 * HALF_AN_HOUR)
    await world.letSleep()
    expect(world.status()).toBe('running')
  })

  test.each(['telegramToken', 'discordBotToken', 'whatsappToken', 'slackBotToken', 'slackAppToken'] as const)(
    'does not sleep when it has a %s, which it must receive',
    async (name) => {
      await using world = await sleepyPlatform()
      await write(world.platform.db, (tx) =>
        changeSettings(world.platform, tx, world.row(), { [name]: '1:a-token-of-a-messenger' }),
      )
      world.clock.advance(HALF_AN_HOUR)
      await world.letSleep()
      expect(world.status()).toBe('running')
    },
  )

  test('PUT /api/agents/:id/config: 200 with neverSleeps wakes it and keeps it running; without it sleeps again', async () => {
    await using world = await sleepyPlatform()
    const set = (neverSleeps: unknown) =>
      world.web.request(`/api/agents/${world.id}/config`, json('PUT', { neverSleeps }, world.cookie))
    await world.fallAsleep()
    expect(await (await set(true)).json()).toMatchObject({ config: { neverSleeps: true } })
    await until('the agent to run', () => world.status() === 'running')
    world.clock.advance(100 * HALF_AN_HOUR)
    await world.letSleep()
    expect(world.status()).toBe('running')
    const calls = world.calls.length
    expect((await set('yes')).status).toBe(400)
    expect((await set(null)).status).toBe(200)
    expect([world.status(), world.calls.length]).toEqual(['running', calls])
    await world.letSleep()
    expect(world.status()).toBe('sleeping')
  })

  test('does not sleep when it is OpenClaw, which has its own schedule and channels', async () => {
    await using world = await sleepyPlatform()
    await world.set({ kind: 'openclaw' })
    world.clock.advance(HALF_AN_HOUR)
    await world.letSleep()
    expect(world.status()).toBe('running')
  })

  test('is not idle during a conversation or after a recent model call', async () => {
    await using world = await sleepyPlatform()
    world.clock.advance(HALF_AN_HOUR)
    const release = world.platform.activity.hold(world.id)
    await world.letSleep()
    expect(world.status()).toBe('running')
    release()
    world.clock.advance(HALF_AN_HOUR - 1)
    await world.letSleep()
    expect(world.status()).toBe('running')

    const asked = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] }
    await world.backend.request('/v1/chat/completions', json('POST', asked, world.asAgent))
    world.clock.advance(1)
    await world.letSleep()
    expect(world.status()).toBe('running')
  })

  test('keeps running when it cannot be stopped', async () => {
    await using world = await sleepyPlatform()
    world.failStop(new AppError('internal', 'The container engine does not answer'))
    world.clock.advance(HALF_AN_HOUR)
    await world.letSleep()
    expect(world.status()).toBe('running')
    expect(world.logLines.join('')).toContain('an idle agent could not be ended')
  })
})

describe('a sleeping agent', () => {
  test('POST /api/chat: 200 with its answer after waking it', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    expect(await world.chat()).toMatchObject({ reply: world.reply })
    expect(world.status()).toBe('running')
    expect(world.calls).toEqual(['deploy', 'stop', 'deploy'])
    // The idle time starts again.
    world.clock.advance(HALF_AN_HOUR - 1)
    await world.letSleep()
    expect(world.status()).toBe('running')
  })

  test('is started once by 50 concurrent callers, who all get an answer', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    const answers = await Promise.all(Array.from({ length: 50 }, () => world.ask()))
    expect(answers).toEqual(Array.from({ length: 50 }, () => world.reply))
    expect(world.calls).toEqual(['deploy', 'stop', 'deploy'])
  })

  test('answers a request that arrives while it falls asleep', async () => {
    await using world = await sleepyPlatform()
    const { letEnd } = world.holdStop()
    world.clock.advance(HALF_AN_HOUR)
    const sleeping = world.letSleep()
    await signalsOf(world, 'stop')
    const answers = Promise.all([world.ask(), world.ask()])
    letEnd()
    await sleeping
    expect(await answers).toEqual([world.reply, world.reply])
    expect(world.calls).toEqual(['deploy', 'stop', 'deploy'])
    expect(world.status()).toBe('running')
  })

  test('stays awake when a message arrives between the check and its sleep', async () => {
    await using world = await sleepyPlatform()
    for (let round = 0; round < 30; round++) {
      world.clock.advance(HALF_AN_HOUR)
      const [, answer] = await Promise.all([world.letSleep(), world.ask()])
      expect(answer).toBe(world.reply)
    }
  })

  test('is down and reports the reason when it cannot wake', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    world.failDeploy(new AppError('internal', 'The agent process could not be started'))
    const failed = 'The agent could not be woken: The agent process could not be started'
    await expect(world.ask()).rejects.toThrow(failed)
    const down = { status: 'running', downAt: world.clock.now(), lastError: 'The agent process could not be started' }
    expect(world.row()).toMatchObject(down)
    const shown = await world.web.request(`/api/agents/${world.id}`, { headers: world.cookie })
    expect(await shown.json()).toMatchObject({ agent: { status: 'error', lastError: down.lastError } })
  })

  test('stays asleep while its engine is unreachable, and the caller gets an error', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    world.setAvailable(false)
    await expect(world.ask()).rejects.toThrow('The agent could not be woken')
    expect(world.status()).toBe('sleeping')
  })

  test('POST /api/agents/:id/stop: 200, and requests no longer wake it', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    expect(await world.post('stop')).toMatchObject({ status: 'stopped' })
    await expect(world.ask()).rejects.toThrow('Agent is not running')
    expect(world.calls).toEqual(['deploy', 'stop'])
  })

  test.each(['start', 'restart'])('POST /api/agents/:id/%s: 200 wakes it', async (verb) => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    expect(await world.post(verb)).toMatchObject({ status: 'running' })
    expect(world.status()).toBe('running')
  })

  test('POST /api/agents/:id/token/rotate: 200, and it wakes with its new token', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    expect(await world.post('token/rotate')).toMatchObject({ status: 'sleeping' })
    expect(await world.ask()).toBe(world.reply)
    expect(world.row().tokensChangedAt).toBeNull()
  })

  test('DELETE /api/agents/:id: 200 removes it', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    const gone = await world.web.request(`/api/agents/${world.id}`, { method: 'DELETE', headers: world.cookie })
    expect(gone.status).toBe(200)
    expect(findAgentRow(world.platform.db, world.id)).toBeNull()
  })

  test('stays asleep when the platform restarts, and processes left by a crash are stopped', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    await reconcileAgents(world.platform)
    expect(world.calls).toEqual(['deploy', 'stop'])
    await world.startBehindItsBack()
    await reconcileAgents(world.platform)
    expect(world.calls).toEqual(['deploy', 'stop', 'stop'])
    expect(world.status()).toBe('sleeping')
  })

  test('GET /api/agents/:id/watchdog: 200 with sleep as desired state and full uptime', async () => {
    await using world = await sleepyPlatform({ WATCHDOG_DEGRADED_CHECK_INTERVAL: '0.1' })
    const stopping = new AbortController()
    const repairAgent = async () => true
    const watching = runWatchdog({ ...world.platform, repairAgent }, stopping.signal)
    await world.watchdogIs('running')
    await world.fallAsleep()
    await world.watchdogIs('sleeping')
    const shown = await world.web.request(`/api/agents/${world.id}/watchdog`, { headers: world.cookie })
    expect(await shown.json()).toMatchObject({ state: 'sleeping', uptime: { day: 100 } })
    await world.ask()
    await world.watchdogIs('running')
    stopping.abort()
    await watching
    expect(world.countNotices()).toBe(0)
    const row = world.platform.db.select().from(watchdogs).where(eq(watchdogs.agentId, world.id)).get()
    expect(row).toMatchObject({ attempts: 0, crashes: [] })
  })

  test('GET /api/agents/:id/channels: 200 without channels, and it stays asleep', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    const shown = await world.web.request(`/api/agents/${world.id}/channels`, { headers: world.cookie })
    expect(await shown.json()).toEqual({ channels: [], untold: null })
    expect(world.status()).toBe('sleeping')
  })

  test('answers other callers when one disconnects', async () => {
    await using world = await sleepyPlatform()
    await world.fallAsleep()
    const leaving = new AbortController()
    const left = world.ask(leaving.signal)
    const stays = world.ask()
    leaving.abort(new Error('The caller left'))
    await expect(left).rejects.toThrow('The caller left')
    expect(await stays).toBe(world.reply)
  })
})

test('the job for sleep runs four times per sleep interval, at most every 30 s', async () => {
  await using world = await sleepyPlatform()
  expect(sleepJob(world.platform).everyMs).toBe(30_000)
  expect(sleepJob({ ...world.platform, sleepAfterMs: 1200 }).everyMs).toBe(300)
  expect(agents.status.enumValues).toContain('sleeping')
})
