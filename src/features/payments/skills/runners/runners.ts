import { AppError } from '../../../../core/errors.ts'
import { SETTLEMENT_FACTS, useBookingSettlement } from './booking-settlement.ts'
import type { RunnerDeps, SkillCall } from './calls.ts'
import { useEventScheduler } from './event-scheduler.ts'
import { useEventTicketing, useFestivalFinder, useVenueFinder } from './events.ts'
import { SPLIT_FACTS, useInstantSplit } from './instant-split.ts'
import { useSetlistOracle, useVisualSynthesizer } from './model-skills.ts'
import { useRoyaltyTracker } from './royalty-tracker.ts'

type Runner = (deps: RunnerDeps, call: SkillCall) => Promise<object> | object

/** Skills whose actions the platform runs. */
const RUNNERS: Readonly<Record<string, Runner>> = {
  'booking-settlement': useBookingSettlement,
  'event-scheduler': useEventScheduler,
  'event-ticketing': useEventTicketing,
  'instant-split': useInstantSplit,
  'royalty-tracker': useRoyaltyTracker,
  'venue-finder': useVenueFinder,
  'festival-finder': useFestivalFinder,
  'setlist-oracle': useSetlistOracle,
  'visual-synthesizer': useVisualSynthesizer,
}

/** Additional fields of `GET /api/skills/:name`. */
const FACTS: Readonly<Record<string, object>> = {
  'booking-settlement': SETTLEMENT_FACTS,
  'instant-split': SPLIT_FACTS,
}

export function factsOf(name: string): object {
  return FACTS[name] ?? {}
}

export function hasActions(name: string): boolean {
  return Object.hasOwn(RUNNERS, name)
}

/** @throws AppError `not_found` for a skill without actions, and what the skill throws. */
export async function runActions(deps: RunnerDeps, name: string, call: SkillCall): Promise<object> {
  const runner = hasActions(name) ? RUNNERS[name] : undefined
  if (!runner) throw new AppError('not_found', 'Skill not found')
  return runner(deps, call)
}
