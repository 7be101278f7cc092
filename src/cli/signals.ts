/** Longer than the shutdown waits for open requests. */
const IMPATIENT_MS = 12_000

/**
 * Resolves at the first SIGTERM or SIGINT. Repeats within `impatientMs` are ignored, because a terminal and `bun start`
 * both deliver the signal; a later one ends the process with exit code 1.
 */
export function firstSignal(impatientMs = IMPATIENT_MS): Promise<'SIGTERM' | 'SIGINT'> {
  const { promise, resolve } = Promise.withResolvers<'SIGTERM' | 'SIGINT'>()
  let firstAt: number | undefined
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      firstAt ??= performance.now()
      if (performance.now() - firstAt > impatientMs) process.exit(1)
      resolve(signal)
    })
  }
  return promise
}
