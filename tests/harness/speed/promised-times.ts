/**
 * The milliseconds that something promised within `promisedMs` may take in a test. The gate runs beside other work and on
 * slow machines, so there this only tells what is quick from what grows or waits without end; `STRICT_TIMES=1`, as
 * `bun run torture` sets it, holds the promise itself.
 */
export function atMostMs(promisedMs: number): number {
  return process.env.STRICT_TIMES === '1' ? promisedMs : Math.max(5000, promisedMs * 10)
}
