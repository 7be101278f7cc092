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
