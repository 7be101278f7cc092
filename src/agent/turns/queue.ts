import type { AppError } from '../../core/errors.ts'

/** The work of a queued turn; `letNextBegin` lets the next turn of the session start while this one waits for a person. */
type Work<Result> = (signal: AbortSignal, letNextBegin: () => void) => Promise<Result>

/** Turns of one session run one after another, those of different sessions side by side. */
export type TurnQueue = {
  /** Runs `work` when its turn comes; the signal it is handed also aborts by `interrupt`. @throws the abort reason. */
  run<Result>(key: string, signal: AbortSignal, work: Work<Result>): Promise<Result>
  /** Aborts what runs or waits under `key`, or everything. */
  interrupt(reason: AppError, key?: string): void
  /** Aborts everything, waits until it has ended, and runs `work` while nothing else does. */
  runAlone(reason: AppError, work: () => Promise<void>): Promise<void>
}

export function createTurnQueue(): TurnQueue {
  const tails = new Map<string, Promise<unknown>>()
  const entries = new Map<{ key: string; abort: AbortController }, Promise<unknown>>()
  let gate: Promise<unknown> = Promise.resolve()

  const interrupt = (reason: AppError, key?: string) => {
    for (const entry of entries.keys()) if (key === undefined || entry.key === key) entry.abort.abort(reason)
  }

  return {
    interrupt,
    async run(key, signal, work) {
      const entry = { key, abort: new AbortController() }
      const either = AbortSignal.any([signal, entry.abort.signal])
      const next = Promise.withResolvers<void>()
      const result = Promise.all([gate, tails.get(key)]).then(() => {
        either.throwIfAborted()
        return work(either, next.resolve)
      })
      const end = settled(result)
      const tail = Promise.race([end, next.promise])
      tails.set(key, tail)
      entries.set(entry, end)
      try {
        return await result
      } finally {
        entries.delete(entry)
        if (tails.get(key) === tail) tails.delete(key)
      }
    },
    async runAlone(reason, work) {
      interrupt(reason)
      const result = Promise.all([gate, ...entries.values()]).then(work)
      gate = settled(result)
      await result
    },
  }
}

/** Resolves when `promise` ends either way: its failure belongs to the caller that awaits it. */
function settled(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch(() => undefined)
}
