import { readdirSync, readFileSync } from 'node:fs'

/** Returns the process ids of the children of a process, without zombies. */
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

/** Returns the CPU time of a process in seconds; 0 if it has ended. */
export function cpuSecondsOf(pid: number): number {
  return readStat(pid)?.cpuSeconds ?? 0
}

/** Unit of `/proc/<pid>/stat` on all Linux systems. */
const TICKS_PER_SECOND = 100

function readStat(pid: number): { state: string; parent: number; cpuSeconds: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The process name before may contain any characters.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state = '', parent] = fields
    const ticks = Number(fields[11]) + Number(fields[12])
    return { state, parent: Number(parent), cpuSeconds: ticks / TICKS_PER_SECOND }
  } catch {
    // The process has ended meanwhile.
    return null
  }
}
