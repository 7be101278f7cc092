import { describe, expect, test } from 'bun:test'
import { newWatch, nextState, type Watch, type WatchdogInput, type WatchdogRules, wantsRepair } from './next-state.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
/** The default limits and the start period of the built-in agent. */
const RULES: WatchdogRules = {
  startPeriodMs: 20 * SECOND,
  checkMs: 120 * SECOND,
  startupFailureThreshold: 3,
  maxRepairAttempts: 2,
  crashLoopWindowMs: 5 * MINUTE,
  crashLoopThreshold: 3,
  retryAfterMs: 60 * MINUTE,
  repairsItself: true,
  rungs: [],
}

type Step = WatchdogInput extends infer Event ? (Event extends { at: number } ? Omit<Event, 'at'> : never) : never
const ok = { type: 'probed', isHealthy: true } as const
const slow = { type: 'probed', isHealthy: false, isDown: false } as const
const down = { type: 'probed', isHealthy: false, isDown: true } as const
const crash = { type: 'crashed', count: 1 } as const
const started = { type: 'started' } as const
const stopped = { type: 'stopped' } as const
const begun = { type: 'repair-begun' } as const
const repaired = { type: 'repair-ended', isRepaired: true } as const
const unrepaired = { type: 'repair-ended', isRepaired: false } as const

/** Applies steps, each at its second. @returns the state and the notices. */
function play(steps: [second: number, step: Step][], rules = RULES) {
  let watch: Watch = newWatch(0)
  const reported: string[] = []
  let hasGivenUp = false
  for (const [second, step] of steps) {
    const event: WatchdogInput = { ...step, at: second * SECOND }
    const transition = nextState(watch, event, rules)
    watch = transition.watch
    reported.push(...transition.notices)
    hasGivenUp ||= transition.givesUp
  }
  return { watch, state: watch.state, told: reported, hasGivenUp, wantsRepair: wantsRepair(watch, rules) }
}

const RUNNING: [number, Step][] = [
  [0, started],
  [1, ok],
]
const DEGRADED: [number, Step][] = [...RUNNING, [121, slow]]
const REPAIRING: [number, Step][] = [...DEGRADED, [126, slow], [126, begun]]
const CRASH_LOOP: [number, Step][] = [...RUNNING, [10, crash], [20, crash], [30, crash]]

describe('nextState', () => {
  const rows: [string, [number, Step][], string, string[]][] = [
    ['an agent that is started is starting', [[0, started]], 'starting', []],
    ['starting, first success: running', RUNNING, 'running', []],
    ['running, unhealthy: degraded', DEGRADED, 'degraded', ['degraded']],
    ['degraded, repair begins: repairing', REPAIRING, 'repairing', ['degraded', 'repair_started']],
    [
      'repairing, all attempts failed: crash_loop',
      [...REPAIRING, [160, unrepaired], [165, slow], [165, begun], [200, unrepaired]],
      'crash_loop',
      ['degraded', 'repair_started', 'repair_failed', 'repair_started', 'repair_failed', 'crash_loop'],
    ],
    ['any, third crash in five minutes: crash_loop', CRASH_LOOP, 'crash_loop', ['crash', 'crash', 'crash_loop']],
    [
      'starting, third crash: crash_loop',
      [
        [0, started],
        [1, crash],
        [2, crash],
        [3, crash],
      ],
      'crash_loop',
      ['crash', 'crash', 'crash_loop'],
    ],
    [
      'degraded, third crash: crash_loop',
      [...DEGRADED, [122, { type: 'crashed', count: 3 }]],
      'crash_loop',
      ['degraded', 'crash_loop'],
    ],
    [
      'repairing, third crash: crash_loop',
      [...REPAIRING, [130, { type: 'crashed', count: 2 }], [131, crash]],
      'crash_loop',
      ['degraded', 'repair_started', 'crash', 'crash_loop'],
    ],
    [
      'repairing, verified: running',
      [...REPAIRING, [160, repaired]],
      'running',
      ['degraded', 'repair_started', 'repaired'],
    ],
    ['degraded, healthy again: running', [...DEGRADED, [126, ok]], 'running', ['degraded', 'recovered']],
    [
      'crash_loop, started by somebody: starting',
      [...CRASH_LOOP, [40, started]],
      'starting',
      ['crash', 'crash', 'crash_loop'],
    ],
    [
      'crash_loop, stopped by somebody: stopped',
      [...CRASH_LOOP, [40, stopped]],
      'stopped',
      ['crash', 'crash', 'crash_loop'],
    ],
    ['running, stopped by somebody: stopped', [...RUNNING, [5, stopped]], 'stopped', []],
    [
      'repairing, stopped by somebody: stopped',
      [...REPAIRING, [130, stopped]],
      'stopped',
      ['degraded', 'repair_started'],
    ],
    ['running, crashed once: starting', [...RUNNING, [10, crash]], 'starting', ['crash']],
  ]
  test.each(rows)('%s', (_name, steps, state, reported) => {
    expect(play(steps)).toMatchObject({ state, told: reported })
  })

  test('ends a crash loop only with a start or stop', () => {
    const steps: Step[] = [ok, slow, down, crash, { type: 'misconfigured' }, begun, repaired, unrepaired]
    const all: [number, Step][] = [...CRASH_LOOP, ...steps.map((step): [number, Step] => [50, step])]
    expect(play(all)).toMatchObject({ state: 'crash_loop', told: ['crash', 'crash', 'crash_loop'], wantsRepair: false })
  })
})

describe('nextState during a slow start', () => {
  test('counts failures only after the grace period, one per check interval', () => {
    const probes = Array.from({ length: 49 }, (_, index): [number, Step] => [index * 5, slow])
    expect(play([[0, started], ...probes]).watch).toMatchObject({ state: 'starting', failures: 2 })
    expect(play([[0, started], ...probes, [245, ok]]).state).toBe('running')
  })

  test('repairs at once after the third failure', () => {
    const steps: [number, Step][] = [
      [0, started],
      [19, slow],
      [20, slow],
      [140, slow],
    ]
    expect(play(steps).state).toBe('starting')
    expect(play([...steps, [260, slow]])).toMatchObject({ state: 'degraded', told: ['degraded'], wantsRepair: true })
  })

  test('returns degraded at once when there is no process', () => {
    expect(
      play([
        [0, started],
        [1, down],
      ]),
    ).toMatchObject({ state: 'degraded', wantsRepair: false })
    expect(
      play([
        [0, started],
        [1, down],
        [6, down],
      ]),
    ).toMatchObject({ state: 'degraded', wantsRepair: true })
  })
})

describe('nextState and repairs', () => {
  test('starts a repair only after two failed probes', () => {
    expect(play(DEGRADED).wantsRepair).toBe(false)
    expect(play([...DEGRADED, [126, slow]]).wantsRepair).toBe(true)
  })

  test('only notifies when WATCHDOG_AUTO_REPAIR=false', () => {
    const rules = { ...RULES, repairsItself: false }
    const all: [number, Step][] = [...DEGRADED, [126, slow], [131, slow], [131, begun], [136, down]]
    expect(play(all, rules)).toMatchObject({ state: 'degraded', told: ['degraded'], wantsRepair: false })
    expect(play(CRASH_LOOP, rules)).toMatchObject({ state: 'crash_loop', hasGivenUp: false })
    expect(play(CRASH_LOOP).hasGivenUp).toBe(true)
  })

  test('repairs at once when the configuration is invalid, which is no crash', () => {
    const result = play([...RUNNING, [5, { type: 'misconfigured' }]])
    expect(result).toMatchObject({ state: 'degraded', wantsRepair: true, told: ['degraded'] })
    expect(result.watch.crashes).toEqual([])
  })

  test('does not count an attempt when it was interrupted', () => {
    const { watch } = play([...REPAIRING, [130, { type: 'repair-interrupted' }]])
    expect(watch).toMatchObject({ state: 'degraded', attempts: 0, failures: 1 })
  })

  test('counts an attempt when it has no lasting effect', () => {
    const again: [number, Step][] = [
      [160, repaired],
      [170, slow],
      [175, slow],
      [175, begun],
      [200, repaired],
      [210, slow],
    ]
    expect(play([...REPAIRING, ...again]).state).toBe('degraded')
    expect(play([...REPAIRING, ...again, [215, slow]])).toMatchObject({ state: 'crash_loop', hasGivenUp: true })
  })

  test('resets the counters after ten healthy minutes', () => {
    const healthy: [number, Step][] = [...REPAIRING, [160, repaired], [700, ok]]
    expect(play([...healthy, [759, ok]]).watch.attempts).toBe(1)
    expect(play([...healthy, [760, ok]]).watch).toMatchObject({ attempts: 0, crashes: [] })
  })
})

describe('nextState and crashes', () => {
  test('counts crashes of the last five minutes', () => {
    const first: [number, Step][] = [...RUNNING, [10, crash], [100, crash]]
    expect(play([...first, [310, crash]]).state).toBe('crash_loop')
    expect(play([...first, [310.001, crash]]).state).toBe('starting')
  })

  test('does not count crashes of a stopped agent', () => {
    expect(play([...RUNNING, [2, stopped], [3, { type: 'crashed', count: 9 }]])).toMatchObject({
      state: 'stopped',
      told: [],
    })
  })
})

describe('nextState with the repair ladder', () => {
  const rules: WatchdogRules = { ...RULES, rungs: ['configuration', 'image'] }
  const failing: [number, Step][] = [...RUNNING, [10, slow], [11, slow]]
  /** A repair that fails, and the failed probe after it. */
  const fails = (second: number): [number, Step][] => [
    [second, begun],
    [second + 1, unrepaired],
    [second + 2, slow],
  ]

  test('restarts, then restores the last healthy configuration, then the last healthy image, then gives up', () => {
    const rungs = [20, 30, 40, 50].map((second, index, seconds) => {
      const before = seconds.slice(0, index).flatMap(fails)
      return play([...failing, ...before, [second, begun]], rules).watch.rung
    })
    expect(rungs).toEqual(['restart', 'restart', 'configuration', 'image'])
    const all = [20, 30, 40, 50].flatMap(fails)
    expect(play([...failing, ...all], rules)).toMatchObject({ state: 'crash_loop', hasGivenUp: true })
    expect(play([...failing, ...all], rules).told.at(-1)).toBe('crash_loop')
  })

  test('restores at once when the agent crashed as often as in a crash loop', () => {
    const crashed = play(CRASH_LOOP, rules)
    expect(crashed).toMatchObject({ state: 'degraded', wantsRepair: true, hasGivenUp: false })
    expect(play([...CRASH_LOOP, [31, begun]], rules).watch).toMatchObject({ rung: 'configuration', crashes: [] })
  })

  test('repeats no restore before ten healthy minutes', () => {
    const back: [number, Step][] = [...CRASH_LOOP, [31, begun], [32, repaired]]
    const again = (second: number) => [...back, ...[1, 2, 3].map((more): [number, Step] => [second + more, crash])]
    expect(play([...again(40), [44, begun]], rules).watch.rung).toBe('image')
    expect(play([...back, [700, ok], [701, crash], [702, crash], [703, crash], [704, begun]], rules).watch.rung).toBe(
      'configuration',
    )
  })

  test('resumes a restore when it was interrupted', () => {
    const interrupted: [number, Step][] = [...CRASH_LOOP, [31, begun], [32, { type: 'repair-interrupted' }], [33, slow]]
    expect(play([...interrupted, [34, begun]], rules).watch).toMatchObject({
      state: 'repairing',
      rung: 'configuration',
    })
  })

  test('continues with restores when a deployment failed, and stops when there are none', () => {
    const failed: [number, Step][] = [...RUNNING, [5, { type: 'start-failed' }]]
    expect(play([...failed, [6, begun]], rules).watch.rung).toBe('configuration')
    expect(play(failed, RULES)).toMatchObject({ state: 'stopped', told: [] })
  })

  test('gives up for an hour, then for twice as long after each failed retry', () => {
    const retry = { type: 'retry-begun' } as const
    const later = (hours: number) => 30 + hours * 3600
    expect(play([...CRASH_LOOP, [later(1) - 1, retry]]).state).toBe('crash_loop')
    const tried: [number, Step][] = [...CRASH_LOOP, [later(1), retry], [later(1) + 1, unrepaired]]
    expect(play(tried)).toMatchObject({ state: 'crash_loop', hasGivenUp: true })
    expect(play(tried).told.slice(-2)).toEqual(['crash_loop', 'repair_failed'])
    expect(play([...tried, [later(3), retry]]).state).toBe('crash_loop')
    expect(play([...tried, [later(3) + 1, retry]]).state).toBe('repairing')
    expect(play([...tried, [later(3) + 1, retry], [later(3) + 2, repaired]]).state).toBe('running')
    expect(play([...CRASH_LOOP, [later(1), retry]], { ...RULES, repairsItself: false }).state).toBe('crash_loop')
  })
})
