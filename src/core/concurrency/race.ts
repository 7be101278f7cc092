/** Settles with `work`, or resolves with `late` after `maxMs`; `work` continues and later errors are dropped. */
export async function orLate<T, Late>(work: Promise<T>, maxMs: number, late: Late): Promise<T | Late> {
  const { promise, resolve } = Promise.withResolvers<Late>()
  const timer = setTimeout(() => resolve(late), maxMs)
  try {
    return await Promise.race([work, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Settles with `work`, or rejects with the reason of `signal` when it aborts first; `work` continues. */
export function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/**
 * Returns a controller that aborts with the first of `signals`. `release` removes the listeners, because the signals
 * may live longer.
 */
export function endWith(...signals: readonly AbortSignal[]): { ending: AbortController; release: () => void } {
  const ending = new AbortController()
  const end = () => ending.abort()
  for (const signal of signals) signal.addEventListener('abort', end)
  if (signals.some(({ aborted }) => aborted)) end()
  const release = () => {
    for (const signal of signals) signal.removeEventListener('abort', end)
  }
  return { ending, release }
}
