import type { Clock } from '../../src/core/clock.ts'

/** A clock that moves only when the test advances it. */
export function settableClock(start = '2026-11-20T12:00:00Z'): Clock & { advance(ms: number): void } {
  let now = Date.parse(start)
  return {
    now: () => new Date(now),
    advance(ms) {
      now += ms
    },
  }
}
