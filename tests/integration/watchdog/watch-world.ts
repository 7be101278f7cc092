import { eq } from 'drizzle-orm'
import { createAgentGateway } from '../../../src/adapters/gateways/gateway.ts'
import type { Inspection, RuntimeEvent } from '../../../src/adapters/runtimes/contract/runtime.ts'
import { createNoRuntime, onlyRuntime } from '../../../src/adapters/runtimes/contract/runtimes.ts'
import { write } from '../../../src/db/write.ts'
import type { Notification } from '../../../src/features/accounts/notifications/schemas.ts'
import { insertAgent } from '../../../src/features/agents/registry/agents.ts'
import { agents } from '../../../src/features/agents/registry/tables.ts'
import type { Rung } from '../../../src/features/agents/watchdog/next-state.ts'
import { createSteadyClock } from '../../../src/features/agents/watchdog/record.ts'
import { showWatchdog } from '../../../src/features/agents/watchdog/routes.ts'
import type { WatchdogSettings } from '../../../src/features/agents/watchdog/rules.ts'
import { watchdogs } from '../../../src/features/agents/watchdog/tables.ts'
import { runWatchdog } from '../../../src/features/agents/watchdog/watch.ts'
import { testPlatform } from '../../harness/platform.ts'

/** Response of an agent to a probe. */
export type Health = 'live' | 'refusing' | 'silent' | 'endless' | 'half' | 'garbage'

/** An agent of the engine double: an HTTP server that responds by `health`, and its engine state. */
export type FakeAgent = { id: string; health: Health; inspection: Inspection }

export type WatchOptions = {
  agents: number
  settings?: Partial<WatchdogSettings>
  /** Speed of the watchdog's clock, and the time at which it pauses until `goOn`. */
  speed?: number
  standsStillAtMs?: number
  /** Timeout of a probe: long, so that a busy machine does not make an agent look unresponsive. */
  probeMs?: number
  repairAgent?: (agent: FakeAgent, signal: AbortSignal) => Promise<boolean>
}

const UNUSED_MS = { changeMs: 1000, chatIdleMs: 1000, chatTotalMs: 1000 }

/** Starts a watchdog on its own platform, with an engine double and agents that are real HTTP servers. */
export async function openWatch(options: WatchOptions) {
  const { agents: count, settings = {}, speed = 1, probeMs = 10_000, repairAgent } = options
  const { platform, clock } = testPlatform()
  const notices: Notification[] = []
  const servers: Bun.Server<undefined>[] = []
  const fakes = new Map<string, FakeAgent>()
  const repairs: string[] = []
  const listeners = new Set<(event: RuntimeEvent) => void>()
  let atOnce = 0
  let mostAtOnce = 0
  let looks = 0
  let isEngineThere = true
  await write(platform.db, (tx) => {
    for (let index = 0; index < count; index++) {
      const row = { ownerId: null, name: `Agent ${index}`, model: 'm', plan: 'solo', aiProvider: 'openrouter' }
      const { id } = insertAgent(platform, tx, { ...row, status: 'running' })
      const fake: FakeAgent = { id, health: 'live', inspection: inspectionOf(id, 0) }
      const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 2, fetch: () => answer(fake.health) })
      servers.push(server)
      fake.inspection = inspectionOf(id, server.port ?? 0)
      tx.update(agents).set({ port: server.port, startedAt: clock.now() }).where(eq(agents.id, id)).run()
      fakes.set(id, fake)
    }
  })
  const find = (id: string) => {
    const fake = fakes.get(id)
    if (!fake) throw new Error(`No such agent: ${id}`)
    return fake
  }
  const begin = performance.now()
  let { standsStillAtMs = Number.POSITIVE_INFINITY } = options
  const watchMs = () => Math.min((performance.now() - begin) * speed, standsStillAtMs)
  const deps = {
    ...platform,
    steady: createSteadyClock(clock, watchMs),
    notify: (_tx: unknown, notification: Notification) => void notices.push(notification),
    gateway: createAgentGateway({ fetch }, { probeMs, ...UNUSED_MS }),
    watchdogSettings: { ...platform.watchdogSettings, checkMs: 200, degradedCheckMs: 60, ...settings },
    runtimes: onlyRuntime({
      ...createNoRuntime('process', 'No test asks for this'),
      async inspect(id: string) {
        looks += 1
        if (!isEngineThere) throw new Error('The engine does not answer')
        return find(id).inspection
      },
      async *watch(signal: AbortSignal): AsyncGenerator<RuntimeEvent> {
        const waiting: RuntimeEvent[] = []
        let wake = () => {}
        const listener = (event: RuntimeEvent) => {
          waiting.push(event)
          wake()
        }
        listeners.add(listener)
        signal.addEventListener('abort', () => wake())
        while (!signal.aborted) {
          yield* waiting.splice(0)
          await new Promise<void>((resolve) => {
            wake = resolve
            if (signal.aborted || waiting.length > 0) resolve()
          })
        }
        listeners.delete(listener)
      },
    }),
    async repairAgent(id: string, _rung: Rung, signal: AbortSignal) {
      repairs.push(id)
      mostAtOnce = Math.max(mostAtOnce, ++atOnce)
      try {
        return await (repairAgent ?? heal)(find(id), signal)
      } finally {
        atOnce -= 1
      }
    },
  }
  const stopping = new AbortController()
  const watching = runWatchdog(deps, stopping.signal)
  return {
    platform,
    clock,
    notices,
    repairs,
    fakes: [...fakes.values()],
    get mostAtOnce() {
      return mostAtOnce
    },
    get looks() {
      return looks
    },
    /** Milliseconds of the watchdog's clock since the start. */
    watchMs,
    goOn: () => {
      standsStillAtMs = Number.POSITIVE_INFINITY
    },
    show: (id: string) => showWatchdog(deps, id),
    states: () => {
      const rows = platform.db.select({ state: watchdogs.state }).from(watchdogs).all()
      return rows.length === count ? rows.map(({ state }) => state) : ['stopped' as const]
    },
    loseEngine: (isLost: boolean) => {
      isEngineThere = !isLost
    },
    /** Emits the runtime event of a dead agent. */
    emitDied: (id: string) => {
      for (const listener of listeners) listener({ id, type: 'died', at: clock.now() })
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await watching
      await Promise.all(servers.map((server) => server.stop(true)))
    },
  }
}

async function heal(fake: FakeAgent): Promise<boolean> {
  await Bun.sleep(20)
  fake.health = 'live'
  fake.inspection = inspectionOf(fake.id, fake.inspection.port)
  return true
}

export function inspectionOf(id: string, port: number): Inspection {
  return {
    id,
    kind: 'stead',
    state: 'running',
    host: '127.0.0.1',
    port,
    image: null,
    version: null,
    startedAt: new Date(1000),
    exitCode: null,
    isOutOfMemory: false,
    restarts: 0,
  }
}

function answer(health: Health): Response | Promise<Response> {
  if (health === 'live') return Response.json({ ok: true, status: 'live' })
  if (health === 'refusing') return new Response('no', { status: 500 })
  if (health === 'garbage') return new Response('<!doctype html><p>{"ok":true,"status":"live"}')
  if (health === 'silent') return new Promise(() => {})
  return new Response(health === 'half' ? drip('{"ok":true,"sta', 0) : drip('x'.repeat(65_536), 1e9))
}

/** Repeats `text` up to a number of bytes, then keeps the connection open. */
function drip(text: string, bytes: number): ReadableStream<Uint8Array> {
  const part = new TextEncoder().encode(text)
  let sent = 0
  return new ReadableStream({
    pull(controller) {
      if (sent > bytes) return new Promise(() => {})
      sent += part.length
      controller.enqueue(part)
      return undefined
    },
  })
}
