import { readdir, readFile } from 'node:fs/promises'
import { systemCode } from '../../core/files/system-error.ts'

/** A process may start another one while the list is read. */
const MAX_SWEEPS = 20

/** Kills a process group; a group that has already ended is fine. */
export function endGroup(leader: number): void {
  endProcess(-leader)
}

/**
 * Kills processes that left their group but still have `name=value` in their environment, such as daemons. Finds
 * nothing on systems without /proc.
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

/** Returns entries of the form `NAME=value`; none for a process that has ended or belongs to another user. */
export async function readEnvironmentOf(pid: number): Promise<string[]> {
  return (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).split('\0')
}

/** Kills a process. Ignores one that has already exited. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (systemCode(error) !== 'ESRCH') throw error
  }
}
