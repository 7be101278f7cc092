import type { Place } from '../../../adapters/runtimes/process/place.ts'
import type { ResidenceRow } from './tables.ts'

/** `home`: this is the installation. `moved`: it is, and its folder was renamed. `copy`: another one is. */
export type Verdict = 'home' | 'moved' | 'copy'

/**
 * Is the installation at `here` the one that `known` tells of? `isGone` says that nothing of it is left at its old path.
 * In containers the machine's id may be another one each time, so its present run will do, and the path may be the same
 * for everybody, so the volume counts as well.
 */
export function judgeResidence(known: ResidenceRow, here: Place, isGone: () => boolean): Verdict {
  if (known.leftAt !== null) return 'copy'
  if (isSameMachine(known, here) && known.path === here.path && known.volume === here.volume) return 'home'
  const hasNoVolume = known.volume === null && here.volume === null
  const isRenamed = isKnownMachine(known, here) && hasNoVolume && known.inode === here.inode
  return isRenamed && isGone() ? 'moved' : 'copy'
}

/** Why an installation stands back, in one sentence without its full stop. */
export function describeStandingBack(known: ResidenceRow, here: Place): string {
  const volume = known.volume ? ` (volume ${known.volume})` : ''
  const where = `${known.path}${volume}${isSameMachine(known, here) ? '' : ' on another machine'}`
  const what = known.leftAt
    ? `the installation at ${where} took the agents over`
    : `this is a copy of the installation at ${where}`
  return `${what}: agents are left alone until stead adopt`
}

/** Machines without an id are taken for the same. */
export function isSameMachine(known: ResidenceRow, here: Place): boolean {
  return known.machine === here.machine || isSameRun(known, here)
}

function isKnownMachine(known: ResidenceRow, here: Place): boolean {
  return (known.machine !== null && known.machine === here.machine) || isSameRun(known, here)
}

function isSameRun(known: ResidenceRow, here: Place): boolean {
  return known.boot !== null && known.boot === here.boot
}
