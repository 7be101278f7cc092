import { BAD_CONFIGURATION_EXIT, type Inspection } from '../../../adapters/runtimes/contract/runtime.ts'

/** The process that was seen last; `startedAt` (milliseconds) is null when there was none. */
export type SeenProcess = { startedAt: number | null; restarts: number }

/** What an inspection tells: `crashes` since the last one, and whether the agent is down and stays so by itself. */
export type Finding = { seen: SeenProcess | null; crashes: number; isDown: boolean; isMisconfigured: boolean }

/**
 * Compares an inspection with the last one (`seen` is null when there is none to compare with). `hasDied`: the runtime told
 * of an end that nobody had asked for. A crash is counted once, whether the event, the counter or the missing process
 * showed it first; runtimes may raise `restarts` at the end or at the next start.
 */
export function countCrashes(seen: SeenProcess | null, inspection: Inspection | null, hasDied: boolean): Finding {
  if (!inspection) return { seen: null, crashes: 0, isDown: true, isMisconfigured: false }
  const current = { startedAt: inspection.startedAt?.getTime() ?? null, restarts: inspection.restarts }
  const isUp = inspection.state === 'running'
  const isDown = inspection.state === 'stopped' || inspection.state === 'exited'
  // Decisions, 37: an end with 78 is no crash.
  if (!isUp && inspection.exitCode === BAD_CONFIGURATION_EXIT) {
    return { seen: { ...current, startedAt: null }, crashes: 0, isDown, isMisconfigured: true }
  }
  const crashes = seen ? compare(seen, current, inspection, hasDied) : Number(hasDied)
  return { seen: isUp ? current : { ...current, startedAt: null }, crashes, isDown, isMisconfigured: false }
}

function compare(seen: SeenProcess, current: SeenProcess, { state }: Inspection, hasDied: boolean): number {
  const restarts = Math.max(0, current.restarts - seen.restarts)
  const wasUp = seen.startedAt !== null
  if (state === 'running') {
    // The restart that ended a known absence has been counted with it.
    if (!wasUp) return Math.max(0, restarts - 1)
    const isOther = current.startedAt !== seen.startedAt
    return Math.max(restarts, Number(isOther && hasDied))
  }
  if (!wasUp) return restarts
  // Someone stopped it, unless the runtime says that nobody did.
  return state === 'stopped' && !hasDied ? 0 : Math.max(1, restarts)
}
