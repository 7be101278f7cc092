import type {
  Rung,
  WatchdogInput,
  WatchdogRules,
  WatchdogState,
} from '../../../src/features/agents/watchdog/next-state.ts'

/** The state both implementations must agree on after each event. */
type Seen = {
  state: WatchdogState
  attempts: number
  rung: Rung | null
  rungs: string
  reported: string
  givesUp: boolean
  wantsRepair: boolean
}

/** An entry of the complete event log, from which every value is derived. */
type Entry = { at: number; what: string; down?: boolean }

const ALL = ['restart', 'configuration', 'image'] as const

/** A naive watchdog that derives its state from a complete event log. It shares no code with `nextState`. */
export function naiveWatchdog(rules: Omit<WatchdogRules, 'rungs'>) {
  let diary: Entry[] = []
  let state: WatchdogState = 'stopped'
  let reported: string[] = []
  let ended = false

  const go = (to: WatchdogState, at: number) => {
    state = to
    diary.push({ at, what: `became ${to}` })
  }
  const say = (...words: string[]) => reported.push(...words)
  /** Returns the index of the last entry of a kind, or -1. */
  const lastIndex = (what: string) => diary.map((entry) => entry.what).lastIndexOf(what)
  const sinceState = () => diary.slice(lastIndex(`became ${state}`) + 1)
  /** Entries since the counters were reset, after ten healthy minutes. */
  const sinceCleared = () => diary.slice(lastIndex('cleared') + 1)
  const attempts = () =>
    sinceCleared().filter(({ what }) => what === 'repair').length -
    sinceCleared().filter(({ what }) => what === 'repair taken back').length
  const crashesAt = (at: number) =>
    sinceCleared()
      .slice(sinceCleared().findLastIndex(({ what }) => what === 'crashes forgotten') + 1)
      .filter((entry) => entry.what === 'crash' && at - entry.at <= rules.crashLoopWindowMs).length
  const isUsed = (rung: Rung) => sinceCleared().some(({ what }) => what === `used ${rung}`)
  const retries = () => sinceCleared().filter(({ what }) => what === 'retry').length
  /** Returns the current rung, or one that was interrupted and not resumed. */
  const openRung = (): Rung | null => {
    const last = diary.findLast(({ what }) => /^(took|closed)/.test(what))?.what.split(' ')[1]
    return ALL.find((rung) => rung === last) ?? null
  }
  let available: readonly Rung[] = []
  const nextRung = (): Rung | null => {
    if (!rules.repairsItself) return null
    const open = openRung()
    if (open && state !== 'repairing') return open
    if (!isUsed('restart') && attempts() < rules.maxRepairAttempts) return 'restart'
    return available.find((rung) => !isUsed(rung)) ?? null
  }

  /** Returns whether the agent is confirmed as down: two failed probes in this state, or one confirmed failure. */
  const isSure = () => {
    if (state !== 'degraded') return false
    const entries = sinceState()
    const bad = entries.filter(({ what }) => what === 'bad').length
    return bad >= 2 || entries.some(({ what }) => what === 'sure')
  }
  const loop = (at: number) => {
    if (retries() === 0 || state !== 'repairing') say('crash_loop')
    go('crash_loop', at)
    diary.push({ at, what: 'closed' })
    if (rules.repairsItself) ended = true
  }
  const becomeDegraded = (at: number, entry: string) => {
    if (state !== 'degraded') {
      go('degraded', at)
      say('degraded')
    }
    diary.push({ at, what: entry })
    if (isSure() && rules.repairsItself && nextRung() === null) loop(at)
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
      diary.push({ at, what: 'closed' })
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
    if (crashesAt(at) >= rules.crashLoopThreshold) return crashedTooOften(at)
    say('crash')
    if (state !== 'repairing') go('starting', at)
  }
  const crashedTooOften = (at: number) => {
    const open = openRung()
    diary.push({ at, what: 'used restart' })
    if (state === 'repairing' && open) diary.push({ at, what: `used ${open}` })
    if (nextRung() === null) return loop(at)
    say('crash')
    if (state === 'repairing') return
    go('degraded', at)
    diary.push({ at, what: 'sure' })
  }
  const mayRepair = () => isSure() && nextRung() !== null
  const mayRetry = (at: number) => {
    if (state !== 'crash_loop' || !rules.repairsItself) return false
    const since = diary[lastIndex('became crash_loop')]?.at ?? 0
    let pause = rules.retryAfterMs
    for (let times = 0; times < retries(); times++) pause *= 2
    return at - since >= Math.min(pause, Math.max(rules.retryAfterMs, 86_400_000))
  }
  const startFailed = (at: number) => {
    if (state === 'crash_loop') return
    diary = [{ at, what: 'used restart' }]
    if (nextRung() === null) {
      diary = []
      return go('stopped', at)
    }
    go('degraded', at)
    diary.push({ at, what: 'sure' })
    say('degraded')
  }

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
    if (event.type === 'start-failed') startFailed(at)
    if (event.type === 'repair-begun' && mayRepair()) {
      const rung = nextRung()
      if (rung === 'restart') diary.push({ at, what: 'repair' })
      else diary.push({ at, what: 'crashes forgotten' })
      diary.push({ at, what: `took ${rung}` })
      go('repairing', at)
      say('repair_started')
    }
    if (event.type === 'retry-begun' && mayRetry(at)) {
      for (const what of ['retry', 'used restart', 'crashes forgotten', 'took restart']) diary.push({ at, what })
      go('repairing', at)
    }
    if (state !== 'repairing') return
    const rung = openRung()
    if (event.type === 'repair-ended' && rung !== 'restart') diary.push({ at, what: `used ${rung}` })
    if (event.type === 'repair-ended' && event.isRepaired) {
      diary.push({ at, what: 'closed' })
      go('running', at)
      say('repaired')
    } else if (event.type === 'repair-ended') {
      diary.push({ at, what: 'closed' })
      say('repair_failed')
      if (nextRung() === null) return loop(at)
      go('degraded', at)
      diary.push({ at, what: 'bad' })
    } else if (event.type === 'repair-interrupted') {
      if (rung === 'restart') {
        if (!isUsed('restart')) diary.push({ at, what: 'repair taken back' })
        diary.push({ at, what: 'closed' })
      }
      go('degraded', at)
      diary.push({ at, what: 'bad' })
    }
  }

  return {
    happen(event: WatchdogInput, rungs: readonly Rung[]): Seen {
      available = rungs
      reported = []
      ended = false
      react(event)
      const used = ALL.filter(isUsed).join()
      const seen = { state, attempts: attempts(), rung: openRung(), rungs: used }
      return { ...seen, reported: reported.join(), givesUp: ended, wantsRepair: mayRepair() }
    },
  }
}
