import { readdirSync, readFileSync } from 'node:fs'

/** Process ids of the living children of a process, zombies left out. */
export function listChildren(parent: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    const stat = readStat(pid)
    return stat?.parent === parent && stat.state !== 'Z'
  })
}

export function isRunning(pid: number): boolean {
  const stat = readStat(pid)
  return stat !== null && stat.state !== 'Z'
}

/** Seconds of the processor that a process has used; 0 for one that has ended. */
export function cpuSecondsOf(pid: number): number {
  return readStat(pid)?.cpuSeconds ?? 0
}

/** Linux counts in this unit everywhere. */
const TICKS_PER_SECOND = 100

function readStat(pid: number): { state: string; parent: number; cpuSeconds: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name before may hold anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent] = fields
    const ticks = Number(fields[11]) + Number(fields[12])
    return { state, parent: Number(parent), cpuSeconds: ticks / TICKS_PER_SECOND }
  } catch {
    // It has ended meanwhile.
    return null
  }
}
