import type { AppError } from '../../core/errors.ts'

/**
 * The work of a queued turn; `letNextBegin` lets the next turn of the session start while this one waits for approval.
 */
type Work<Result> = (signal: AbortSignal, letNextBegin: () => void) => Promise<Result>

/** Runs turns of one session in order, and turns of different sessions concurrently. */
export type TurnQueue = {
  /** Runs `work` after earlier turns of `key`; `interrupt` also aborts its signal. @throws the abort reason. */
  run<Result>(key: string, signal: AbortSignal, work: Work<Result>): Promise<Result>
  /** Aborts running and waiting turns of `key`, or all turns. */
  interrupt(reason: AppError, key?: string): void
  /** Aborts all turns, waits for their end, and runs `work` while no turn runs. */
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

/** Resolves when `promise` settles; the caller that awaits it handles a failure. */
function settled(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch(() => undefined)
}
