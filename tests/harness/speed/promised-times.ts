/**
 * Returns the time limit in ms for a step promised within `promisedMs`: ten times as long, at least five seconds,
 * because CI machines are slow and run other tests too. With `STRICT_TIMES=1`, which `bun run stress` sets, it is
 * exactly `promisedMs`.
 */
export function atMostMs(promisedMs: number): number {
  return process.env.STRICT_TIMES === '1' ? promisedMs : Math.max(5000, promisedMs * 10)
}
