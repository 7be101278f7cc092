import { expect, test } from 'bun:test'
import type { Machine, PlatformClient } from '../../adapters/platform/client.ts'
import { AppError } from '../../core/errors.ts'
import { type ConnectionEvent, type ConnectionOptions, keepConnected } from './machine.ts'

const machine: Machine = {
  mode: 'home',
  name: 'attic',
  gatewayUrl: 'http://127.0.0.1:1',
  gatewayToken: 'gw_1',
  version: '0.1.0',
  agentKind: 'stead',
}
const away = () => new AppError('unavailable', 'away')

/**
 * Runs one connection attempt per word of `script`, which names its outcome. Pauses end at once and are recorded in
 * `pauses`.
 */
async function run(script: string[], options: Partial<ConnectionOptions> & { random?: number } = {}) {
  const events: ConnectionEvent[] = []
  const calls: string[] = []
  const pauses: number[] = []
  const stopping = new AbortController()
  let round = 0
  const happens = (word: string) => script[round] === word
  const platform: PlatformClient = {
    async findUserId() {
      calls.push('find')
      if (happens('bad key')) throw new AppError('unauthenticated', 'Invalid API key')
      if (happens('away')) throw away()
      return 'usr_1'
    },
    async register() {
      calls.push('register')
      if (happens('away')) throw away()
      if (happens('revoked')) throw new AppError('unauthenticated', 'Unauthorized')
      return { dashboardUrl: 'http://dashboard', installationId: null }
    },
    async sendHeartbeat() {
      calls.push('beat')
      if (happens('away')) throw away()
      return 'now'
    },
  }
  const deps = {
    platform,
    async checkGateway() {
      if (happens('gateway down')) throw new AppError('unavailable', 'No gateway answers')
    },
    report: (event: ConnectionEvent) => void events.push(event),
    random: () => options.random ?? 0.5,
    async pause(ms: number) {
      pauses.push(ms)
      round += 1
      if (round === script.length) stopping.abort()
    },
  }
  const { everyMs = 60_000, once = false } = options
  const error = await keepConnected(deps, machine, { everyMs, once }, stopping.signal).then(
    () => null,
    (thrown: unknown) => thrown,
  )
  return { events: events.map(({ event }) => event), calls, pauses, error }
}

test('keepConnected registers once, then sends heartbeats', async () => {
  const { events, calls, pauses, error } = await run(['up', 'up', 'up'])
  expect(events).toEqual(['connected', 'heartbeat', 'heartbeat', 'heartbeat'])
  expect(calls).toEqual(['find', 'register', 'beat', 'beat', 'beat'])
  expect(pauses).toEqual([60_000, 60_000, 60_000])
  expect(error).toBeNull()
})

test.each([
  [0, 54_000],
  [1, 66_000],
])('keepConnected varies the interval of heartbeats by a fifth: %d', async (random, expected) => {
  expect((await run(['up'], { random })).pauses).toEqual([expected])
})

test('keepConnected retries at growing intervals when the platform is unreachable, and registers again', async () => {
  const script = ['up', ...Array.from({ length: 8 }, () => 'away'), 'up', 'away', 'up']
  const { events, pauses } = await run(script, { random: 1 })
  expect(pauses.slice(1, 9)).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  expect(events.filter((event) => event === 'connected')).toHaveLength(3)
  expect(pauses[10]).toBe(1000)
  expect((await run(['away', 'away'], { random: 0 })).pauses).toEqual([500, 1000])
})

test('keepConnected sends nothing to the platform when the gateway is down', async () => {
  const { calls, events } = await run(['gateway down', 'up', 'gateway down', 'gateway down', 'up'])
  expect(events).toEqual(['waiting', 'connected', 'heartbeat', 'waiting', 'waiting', 'connected', 'heartbeat'])
  expect(calls).toEqual(['find', 'register', 'beat', 'register', 'beat'])
})

test.each([
  [['bad key'], 'Invalid API key', ['find']],
  [['up', 'away', 'revoked'], 'Unauthorized', ['find', 'register', 'beat', 'beat', 'register']],
])('keepConnected, when the error is %j, does not retry', async (script, message, calls) => {
  const ended = await run([...script, 'up', 'up'])
  expect(ended.error).toMatchObject({ message })
  expect(ended.calls).toEqual(calls)
})

test('keepConnected registers and sends one heartbeat when called with once, and throws when either fails', async () => {
  const done = await run(['up'], { once: true })
  expect(done).toEqual({
    events: ['connected', 'heartbeat'],
    calls: ['find', 'register', 'beat'],
    pauses: [],
    error: null,
  })
  const failed = await run(['away'], { once: true })
  expect([failed.error, failed.pauses]).toEqual([away(), []])
})
