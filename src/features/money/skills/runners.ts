import { AppError } from '../../../core/errors.ts'
import type { RunnerDeps, SkillCall } from './calls.ts'
import { useEventScheduler } from './event-scheduler.ts'
import { useFestivalFinder } from './festival-finder.ts'
import { useSetlistOracle } from './setlist-oracle.ts'
import { useVenueFinder } from './venue-finder.ts'
import { useVisualSynthesizer } from './visual-synthesizer.ts'

type Runner = (deps: RunnerDeps, call: SkillCall) => Promise<object> | object

/** Skills whose actions are calls of the platform. */
const RUNNERS: Readonly<Record<string, Runner>> = {
  'event-scheduler': useEventScheduler,
  'venue-finder': useVenueFinder,
  'festival-finder': useFestivalFinder,
  'setlist-oracle': useSetlistOracle,
  'visual-synthesizer': useVisualSynthesizer,
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
