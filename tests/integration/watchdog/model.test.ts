import { expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  newWatch,
  nextState,
  type ReturnRung,
  type WatchdogInput,
  wantsRepair,
} from '../../../src/features/agents/watchdog/next-state.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { naiveWatchdog } from './naive-watchdog.ts'

type Step = WatchdogInput extends infer Event ? (Event extends { at: number } ? Omit<Event, 'at'> : never) : never
const ok = { type: 'probed', isHealthy: true } as const
const started = { type: 'started' } as const
const stopped = { type: 'stopped' } as const
const begun = { type: 'repair-begun' } as const

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(ok) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('probed' as const),
      isHealthy: fc.constant(false as const),
      isDown: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('crashed' as const), count: fc.integer({ min: 1, max: 2 }) }) },
  { weight: 3, arbitrary: fc.constant(begun) },
  { weight: 1, arbitrary: fc.constant({ type: 'retry-begun' } as const) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('repair-ended' as const), isRepaired: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Step>(
      started,
      stopped,
      { type: 'misconfigured' },
      { type: 'repair-interrupted' },
      { type: 'start-failed' },
    ),
  },
)
const pauseMs = fc.constantFrom(0, 1, 1000, 5000, 20_000, 60_000, 120_000, 299_999, 300_000, 300_001, 600_000)
const rulesOf = fc.record({
  startPeriodMs: fc.constantFrom(0, 20_000),
  checkMs: fc.constantFrom(1000, 120_000),
  startupFailureThreshold: fc.integer({ min: 1, max: 3 }),
  maxRepairAttempts: fc.integer({ min: 1, max: 3 }),
  crashLoopWindowMs: fc.constantFrom(5000, 300_000),
  crashLoopThreshold: fc.integer({ min: 1, max: 4 }),
  retryAfterMs: fc.constantFrom(0, 60_000, 300_000),
  repairsItself: fc.boolean(),
})

/** Rungs that an agent can return to, which change with every event. */
const returns = fc.constantFrom<ReturnRung[]>([], ['configuration'], ['image'], ['configuration', 'image'])

const RUNS = roundsOf('WATCHDOG_MODEL_RUNS', 20_000)

test(`${RUNS} random sequences give the states of an independent model`, () => {
  let events = 0
  const reached = new Map<string, number>()
  fc.assert(
    fc.property(
      rulesOf,
      fc.array(fc.tuple(pauseMs, step, returns), { minLength: 1, maxLength: 24, size: 'max' }),
      (rules, steps) => {
        const model = naiveWatchdog(rules)
        let watch = newWatch(0)
        let at = 0
        for (const [pause, next, rungs] of [[0, started, []] as const, ...steps]) {
          at += pause
          const transition = nextState(watch, { ...next, at }, { ...rules, rungs })
          const expected = model.happen({ ...next, at }, rungs)
          watch = transition.watch
          const actual = {
            state: watch.state,
            attempts: watch.attempts,
            rung: watch.rung,
            rungs: watch.rungs.join(),
            reported: transition.notices.join(),
            givesUp: transition.givesUp,
            wantsRepair: wantsRepair(watch, { ...rules, rungs }),
          }
          events += 1
          for (const place of [watch.state, ...(watch.rung ? [watch.rung] : [])]) {
            reached.set(place, (reached.get(place) ?? 0) + 1)
          }
          if (!Bun.deepEquals(actual, expected, true)) expect(actual).toEqual(expected)
        }
      },
    ),
    { numRuns: RUNS },
  )
  const states = ['crash_loop', 'degraded', 'repairing', 'running', 'starting', 'stopped']
  expect([...reached.keys()].sort()).toEqual([...states, 'restart', 'configuration', 'image'].sort())
  console.log(`watchdog model: ${RUNS} sequences, ${events} events, 0 divergences`)
}, 300_000)
