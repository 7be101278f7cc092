import type { Clock } from '../../../core/clock.ts'

/** The time at the start and what has passed since: a wall clock that jumps changes no pause, window or grace. */
export function createSteadyClock(clock: Clock, elapsedMs: () => number = () => performance.now()): Clock {
  const begin = clock.now().getTime() - elapsedMs()
  return { now: () => new Date(begin + elapsedMs()) }
}
