import type { WatchdogInput, WatchdogRules, WatchdogState } from '../../../src/features/agents/watchdog/next-state.ts'

/** The state both implementations must agree on after each event. */
type Seen = { state: WatchdogState; attempts: number; reported: string; givesUp: boolean; wantsRepair: boolean }

/** A thing that was noted; nothing is ever forgotten, and every question is answered by reading the diary from the start. */
type Entry = { at: number; what: string; down?: boolean }

/** A naive watchdog that derives its state from a complete event log. It shares no code with `nextState`. */
export function naiveWatchdog(rules: WatchdogRules) {
  let diary: Entry[] = []
  let state: WatchdogState = 'stopped'
  let reported: string[] = []
  let ended = false

  const go = (to: WatchdogState, at: number) => {
    state = to
    diary.push({ at, what: `became ${to}` })
  }
  const say = (...words: string[]) => reported.push(...words)
  /** Index of the last entry of a kind, -1 without one. */
  const lastIndex = (what: string) => diary.map((entry) => entry.what).lastIndexOf(what)
  const sinceState = () => diary.slice(lastIndex(`became ${state}`) + 1)
  /** Counters restart after ten healthy minutes. */
  const sinceCleared = () => diary.slice(lastIndex('cleared') + 1)
  const attempts = () =>
    sinceCleared().filter(({ what }) => what === 'repair').length -
    sinceCleared().filter(({ what }) => what === 'repair taken back').length
  const crashesAt = (at: number) =>
    sinceCleared().filter((entry) => entry.what === 'crash' && at - entry.at <= rules.crashLoopWindowMs).length

  /** Bad probes since the last good one, in this state; being misconfigured or slow for too long is as bad as two. */
  const isSure = () => {
    if (state !== 'degraded') return false
    const entries = sinceState()
    const bad = entries.filter(({ what }) => what === 'bad').length
    return bad >= 2 || entries.some(({ what }) => what === 'sure')
  }
  const loop = (at: number) => {
    go('crash_loop', at)
    say('crash_loop')
    if (rules.repairsItself) ended = true
  }
  const becomeDegraded = (at: number, entry: string) => {
    if (state !== 'degraded') {
      go('degraded', at)
      say('degraded')
    }
    diary.push({ at, what: entry })
    if (isSure() && rules.repairsItself && attempts() >= rules.maxRepairAttempts) loop(at)
  }

  const countedSlowProbes = () => {
    const became = diary[lastIndex('became starting')]?.at ?? 0
    const counted: number[] = []
    for (const entry of sinceState()) {
      if (entry.what !== 'slow' || entry.at < became + rules.startPeriodMs) continue
      const last = counted.at(-1)
      if (last === undefined || entry.at >= last + rules.checkMs) counted.push(entry.at)
    }
    return counted.length
  }

  const goodProbe = (at: number) => {
    if (state === 'starting' || state === 'degraded') {
      if (state === 'degraded') say('recovered')
      go('running', at)
    } else if (state === 'running') {
      const healthySince = diary[lastIndex('became running')]?.at ?? at
      if (at >= healthySince + 600_000) diary.push({ at, what: 'cleared' })
    }
  }
  const badProbe = (at: number, down: boolean) => {
    if (state === 'running' || state === 'degraded') return becomeDegraded(at, 'bad')
    if (state !== 'starting') return
    if (down) return becomeDegraded(at, 'bad')
    diary.push({ at, what: 'slow' })
    if (countedSlowProbes() >= rules.startupFailureThreshold) becomeDegraded(at, 'sure')
  }
  const crashed = (at: number, count: number) => {
    if (state === 'stopped' || state === 'crash_loop') return
    for (let times = 0; times < count; times++) diary.push({ at, what: 'crash' })
    if (crashesAt(at) >= rules.crashLoopThreshold) return loop(at)
    say('crash')
    if (state !== 'repairing') go('starting', at)
  }
  const mayRepair = () => isSure() && rules.repairsItself && attempts() < rules.maxRepairAttempts

  const react = (event: WatchdogInput) => {
    const { at } = event
    if (event.type === 'started' || (event.type === 'stopped' && state !== 'stopped')) {
      diary = []
      go(event.type === 'started' ? 'starting' : 'stopped', at)
    }
    if (event.type === 'probed' && event.isHealthy) goodProbe(at)
    if (event.type === 'probed' && !event.isHealthy) badProbe(at, event.isDown)
    if (event.type === 'crashed') crashed(at, event.count)
    if (event.type === 'misconfigured' && ['starting', 'running', 'degraded'].includes(state))
      becomeDegraded(at, 'sure')
    if (event.type === 'repair-begun' && mayRepair()) {
      diary.push({ at, what: 'repair' })
      go('repairing', at)
      say('repair_started')
    }
    if (state !== 'repairing') return
    if (event.type === 'repair-ended' && event.isRepaired) {
      go('running', at)
      say('repaired')
    } else if (event.type === 'repair-ended') {
      say('repair_failed')
      if (attempts() >= rules.maxRepairAttempts) return loop(at)
      go('degraded', at)
      diary.push({ at, what: 'bad' })
    } else if (event.type === 'repair-interrupted') {
      diary.push({ at, what: 'repair taken back' })
      go('degraded', at)
      diary.push({ at, what: 'bad' })
    }
  }

  return {
    happen(event: WatchdogInput): Seen {
      reported = []
      ended = false
      react(event)
      return { state, attempts: attempts(), reported: reported.join(), givesUp: ended, wantsRepair: mayRepair() }
    },
  }
}
