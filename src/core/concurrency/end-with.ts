/**
 * Something that ends with whichever of `signals` aborts first, or by `ending` itself. `release` lets go of the signals:
 * they may live far longer than what is ended.
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
