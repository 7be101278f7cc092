/** Longer than requests under way are waited for. */
const IMPATIENT_MS = 12_000

/**
 * Settles with the first SIGTERM or SIGINT. Those that follow at once are the same wish told twice: a terminal sends
 * SIGINT to everything in it, and `bun start` passes it on. Those that come later than `impatientMs` are of somebody who
 * does not want to wait any longer, and end the process with 1.
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
