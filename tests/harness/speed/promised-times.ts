/**
 * Returns the milliseconds that something promised within `promisedMs` may take in a test: ten times as many, five
 * seconds at least, because CI machines are slow and run other tests too. With `STRICT_TIMES=1`, which `bun run stress`
 * sets, exactly `promisedMs`.
 */
export function atMostMs(promisedMs: number): number {
  return process.env.STRICT_TIMES === '1' ? promisedMs : Math.max(5000, promisedMs * 10)
}
