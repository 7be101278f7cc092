import type { AppError } from '../../core/errors.ts'

/** Turns of one session run one after another, those of different sessions side by side. */
export type TurnQueue = {
  /** Runs `work` when its turn comes; the signal it is handed also aborts by `interrupt`. @throws the abort reason. */
  run<Result>(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>
  /** Aborts what runs or waits under `key`, or everything. */
  interrupt(reason: AppError, key?: string): void
  /** Aborts everything, waits until it has ended, and runs `work` while nothing else does. */
  runAlone(reason: AppError, work: () => Promise<void>): Promise<void>
}

export function createTurnQueue(): TurnQueue {
  const tails = new Map<string, Promise<unknown>>()
  const entries = new Set<{ key: string; abort: AbortController }>()
  let gate: Promise<unknown> = Promise.resolve()

  const interrupt = (reason: AppError, key?: string) => {
    for (const entry of entries) if (key === undefined || entry.key === key) entry.abort.abort(reason)
  }

  return {
    interrupt,
    async run(key, signal, work) {
      const entry = { key, abort: new AbortController() }
      const either = AbortSignal.any([signal, entry.abort.signal])
      const result = Promise.all([gate, tails.get(key)]).then(() => {
        either.throwIfAborted()
        return work(either)
      })
      const tail = settled(result)
      tails.set(key, tail)
      entries.add(entry)
      try {
        return await result
      } finally {
        entries.delete(entry)
        if (tails.get(key) === tail) tails.delete(key)
      }
    },
    async runAlone(reason, work) {
      interrupt(reason)
      const result = Promise.all([gate, ...tails.values()]).then(work)
      gate = settled(result)
      await result
    },
  }
}

/** Ends when `promise` does, however: its failure belongs to the one who awaits it. */
function settled(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch(() => undefined)
}
