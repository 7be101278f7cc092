import { inLanes } from '../../../core/concurrency/keyed-queue.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { createBroadcast } from '../contract/events.ts'
import { BAD_CONFIGURATION_EXIT, type RuntimeEvent } from '../contract/runtime.ts'
import { type Engine, LABELS } from '../engine/engine.ts'
import { type EngineEvent, followEvents } from '../engine/events.ts'

/** Container ids are never reused, so old removals can be dropped. */
const MAX_REMOVALS = 1000
/** Time after a broken connection in which expected events may still arrive; a stop takes ten seconds itself. */
const RETELL_MS = 30_000
/** Agents checked concurrently after a gap. */
const AT_ONCE = 8

/**
 * Records stops, starts and removals before the platform performs them, so that the engine's events are not taken for
 * crashes. Events arrive in order, so a container's start clears its expected end.
 */
export class ExpectedEvents {
  readonly #ends = new Set<string>()
  readonly #starts = new Set<string>()
  readonly #removals = new Set<string>()

  end(containerId: string): void {
    this.#ends.add(containerId)
  }

  start(containerId: string): void {
    this.#starts.add(containerId)
  }

  removal(containerId: string): void {
    this.#removals.add(containerId)
    const [oldest] = this.#removals
    if (oldest !== undefined && this.#removals.size > MAX_REMOVALS) this.#removals.delete(oldest)
  }

  /**
   * Returns whether an event was expected. Ends and starts are expected once; a removal may be reported before its
   * end.
   */
  settle(action: string, containerId: string): boolean {
    if (action === 'die') return this.#ends.delete(containerId) || this.#removals.has(containerId)
    if (action === 'destroy') return this.#removals.has(containerId)
    if (action !== 'start') return false
    this.#ends.delete(containerId)
    return this.#starts.delete(containerId)
  }

  /** Returns a function that drops the events that are expected now and have not arrived when it is called. */
  expectedByNow(): () => void {
    const expected = [this.#ends, this.#starts, this.#removals].map((set) => ({ set, ids: [...set] }))
    return () => {
      for (const { set, ids } of expected) for (const id of ids) set.delete(id)
    }
  }
}

type DockerWatch = {
  listen(signal: AbortSignal): AsyncIterable<RuntimeEvent>
  /** Returns whether the memory limit ended the container's last run. */
  endedOutOfMemory(containerId: string): boolean
  close(): void
}

/** Maps the engine's actions to events; others are ignored. */
const MEANINGS: Readonly<Record<string, RuntimeEvent['type']>> = {
  start: 'started',
  die: 'died',
  destroy: 'removed',
  pause: 'changed',
  unpause: 'changed',
}

/** Follows the engine's events across reconnects. */
export function watchDocker(deps: {
  engine: Engine
  instance: string
  asked: ExpectedEvents
  log: Log
  /** Lists every agent known so far, including removed ones. */
  listKnown: () => Promise<string[]>
  /** Stops an agent that restarts in vain. */
  giveUp: (agentId: string) => Promise<void>
}): DockerWatch {
  const { asked, log } = deps
  const broadcast = createBroadcast<RuntimeEvent>()
  const closing = new AbortController()
  const outOfMemory = new Set<string>()
  let isFirst = true

  const warn = (error: unknown) => log.warn({ error: errorMessage(error) }, 'cannot look after agents')
  const noteGap = async () => {
    // The engine repeats missed events, unless it was restarted.
    setTimeout(asked.expectedByNow(), RETELL_MS).unref()
    const wasFirst = isFirst
    isFirst = false
    await inLanes(await deps.listKnown(), AT_ONCE, async (id) => {
      await deps.giveUp(id).catch(warn)
      if (!wasFirst) broadcast.publish({ id, type: 'changed', at: new Date() })
    })
  }
  const note = async (event: EngineEvent) => {
    const id = event.attributes[LABELS.agent]
    if (id === undefined) return
    if (event.action === 'oom') outOfMemory.add(event.actorId)
    const wasAskedFor = asked.settle(event.action, event.actorId)
    if (event.action === 'start' && wasAskedFor) outOfMemory.delete(event.actorId)
    if (event.action === 'destroy') outOfMemory.delete(event.actorId)
    const type = MEANINGS[event.action]
    if (type && !wasAskedFor) broadcast.publish({ id, type, at: event.at })
    if (event.action === 'die' && event.attributes.exitCode === String(BAD_CONFIGURATION_EXIT)) await deps.giveUp(id)
  }
  const run = async () => {
    const { engine, instance } = deps
    for await (const event of followEvents(engine, { instance, type: 'container', signal: closing.signal })) {
      const work = (event === 'connected' ? noteGap() : note(event)).catch(warn)
      // Do not wait for the checks after a gap, or new events would be delayed.
      if (event !== 'connected') await work
    }
  }
  run().catch((error: unknown) => log.error({ error: errorMessage(error) }, 'agents are no longer watched'))

  return {
    listen: (signal) => broadcast.listen(signal),
    endedOutOfMemory: (containerId) => outOfMemory.has(containerId),
    close() {
      closing.abort()
      broadcast.end()
    },
  }
}
