import { inLanes } from '../../../core/concurrency/in-lanes.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { createBroadcast } from '../contract/events.ts'
import { BAD_CONFIGURATION_EXIT, type RuntimeEvent } from '../contract/runtime.ts'
import { type Engine, LABELS } from '../engine/engine.ts'
import { type EngineEvent, followEvents } from '../engine/events.ts'

/** Containers are made anew, so that those which went long ago are told of no more. */
const MAX_REMOVALS = 1000
/** How long after a connection broke something may be told that was asked for before; a stop takes ten seconds itself. */
const RETELL_MS = 30_000
/** Agents that are looked at together after a gap. */
const AT_ONCE = 8

/**
 * What this platform is about to do to containers, told before it does. The engine reports that too, and nobody should
 * take it for a crash. Its events come in order, so the start of a container settles what was expected before.
 */
export class AskedFor {
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

  /** Was this end, start or removal asked for? An end and a start are so once; a removal may be told before its end is. */
  settle(action: string, containerId: string): boolean {
    if (action === 'die') return this.#ends.delete(containerId) || this.#removals.has(containerId)
    if (action === 'destroy') return this.#removals.has(containerId)
    if (action !== 'start') return false
    this.#ends.delete(containerId)
    return this.#starts.delete(containerId)
  }

  /** Returns what forgets that which is expected by now and has not been told of until then. */
  expectedByNow(): () => void {
    const expected = [this.#ends, this.#starts, this.#removals].map((set) => ({ set, ids: [...set] }))
    return () => {
      for (const { set, ids } of expected) for (const id of ids) set.delete(id)
    }
  }
}

export type DockerWatchDeps = {
  engine: Engine
  instance: string
  asked: AskedFor
  log: Log
  /** Every agent known so far, gone ones included. */
  listKnown: () => Promise<string[]>
  /** Ends an agent that its engine keeps starting in vain. */
  giveUp: (agentId: string) => Promise<void>
}

export type DockerWatch = {
  listen(signal: AbortSignal): AsyncIterable<RuntimeEvent>
  /** Did the memory limit end this container the last time it ended? */
  endedOutOfMemory(containerId: string): boolean
  close(): void
}

/** What the engine's messages mean to who looks after agents; whatever else they say is left out. */
const MEANINGS: Readonly<Record<string, RuntimeEvent['type']>> = {
  start: 'started',
  die: 'died',
  destroy: 'removed',
  pause: 'changed',
  unpause: 'changed',
}

/** Listens to the engine from now on, however often it goes away. */
export function watchDocker(deps: DockerWatchDeps): DockerWatch {
  const { asked, log } = deps
  const broadcast = createBroadcast<RuntimeEvent>()
  const closing = new AbortController()
  const outOfMemory = new Set<string>()
  let isFirst = true

  const warn = (error: unknown) => log.warn({ error: errorMessage(error) }, 'cannot look after agents')
  const noteGap = async () => {
    // The engine tells again what happened meanwhile, unless it was started anew.
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
      // The looks after a gap are as slow as the engine, and what it tells meanwhile must not become old behind them.
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
