import { readdir, readFile } from 'node:fs/promises'
import { systemCode } from '../state/files.ts'

/** A process may start another one while the list is read. */
const MAX_SWEEPS = 20

/** Ends a process group by force. Fine when there is none any more. */
export function endGroup(leader: number): void {
  endProcess(-leader)
}

/**
 * Ends what has `name=value` in its environment and did not stay in its group, such as a daemon. Linux tells the
 * environment of a process; elsewhere nothing is found.
 */
export async function sweepMarked(name: string, value: string): Promise<void> {
  for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
    const marked = await listMarked(`${name}=${value}`)
    if (marked.length === 0) return
    for (const pid of marked) endProcess(pid)
  }
}

async function listMarked(entry: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => [])
  const pids = names.filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => {
      return (await readEnvironmentOf(Number(pid))).includes(entry) ? Number(pid) : null
    }),
  )
  return found.filter((pid) => pid !== null)
}

/** As `NAME=value`. One that has ended meanwhile, or is another user's, cannot be read; one that was killed has none. */
export async function readEnvironmentOf(pid: number): Promise<string[]> {
  return (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).split('\0')
}

/** Ends one by force. Fine when it has ended. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error
  }
}
