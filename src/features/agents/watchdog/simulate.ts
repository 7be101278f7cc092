import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import type { AgentRow } from '../registry/tables.ts'
import { findReturns, listReturnRungs } from './ladder.ts'
import {
  newWatch,
  nextState,
  RUNGS,
  type Rung,
  retryAt,
  type Watch,
  type WatchdogRules,
  wantsRepair,
} from './next-state.ts'
import { rulesOf, type WatchdogSettings } from './rules.ts'
import type { SimulatedFailure } from './schemas.ts'

/**
 * Returns the repairs that the watchdog would make if the agent failed now and no repair helped. Changes nothing and
 * notifies no one.
 */
export function simulateFailure(
  deps: { db: Db; sealer: Sealer; watchdogSettings: WatchdogSettings },
  agent: AgentRow,
): SimulatedFailure {
  const rules = rulesOf(deps.watchdogSettings, agent, listReturnRungs(deps, deps.db, agent))
  const { rungs, last } = climb(rules)
  const returns = findReturns(deps, deps.db, agent)
  const isGivenUp = last.state === 'crash_loop'
  return {
    repairsItself: rules.repairsItself,
    steps: rungs.map((rung) => ({
      rung,
      revision: rung === 'restart' ? null : (returns[rung]?.number ?? null),
      changes: rung === 'restart' ? [] : (returns[rung]?.changes ?? []),
    })),
    retryAfterSeconds: isGivenUp && rules.repairsItself ? (retryAt(last, rules) - last.since) / 1000 : null,
  }
}

/** Fails every probe and every repair of a healthy agent until the ladder ends. */
function climb(rules: WatchdogRules): { rungs: Rung[]; last: Watch } {
  const rungs: Rung[] = []
  let watch: Watch = { ...newWatch(0), state: 'running' }
  // Each rung takes two failed probes, and a repair.
  const limit = 3 * (rules.maxRepairAttempts + RUNGS.length)
  for (let at = 1; at <= limit && watch.state !== 'crash_loop'; at++) {
    if (wantsRepair(watch, rules)) {
      watch = nextState(watch, { type: 'repair-begun', at }, rules).watch
      if (watch.rung) rungs.push(watch.rung)
      watch = nextState(watch, { type: 'repair-ended', at, isRepaired: false }, rules).watch
    } else watch = nextState(watch, { type: 'probed', at, isHealthy: false, isDown: true }, rules).watch
  }
  return { rungs, last: watch }
}
