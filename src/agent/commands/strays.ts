import { dlopen, FFIType } from 'bun:ffi'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLibc } from '../../core/libraries/libc.ts'
import { endProcess, readEnvironmentOf } from './end.ts'

/** Of prctl(2) and waitpid(2). */
const PR_SET_CHILD_SUBREAPER = 36
const WNOHANG = 1
/** A stray may start another one while the list is read. */
const MAX_SWEEPS = 200
const REAP_MS = 2

/** What a program that runs now is known by. */
type Own = { leader: number; mark: string }

/**
 * What has lost its parent and got away from its group and its mark, such as by `env -i setsid`. Nothing hides from this: the
 * system makes the agent the parent of whatever loses its own below it.
 */
export type Strays = {
  /** What has this process group or this `NAME=value` in its environment belongs to a program, until it is released. */
  own(leader: number, mark: string): { release(): void }
  /** Ends by force what belongs to no program that runs. */
  end(): Promise<void>
}

/**
 * Makes this process the parent of all that loses its own below it. Everything that this process starts is then started by
 * way of `own`, or is ended. @throws Error where the system does not do that.
 */
export function adoptStrays(): Strays {
  const { symbols } = dlopen(findLibc(), {
    prctl: { args: [FFIType.i32, FFIType.u64, FFIType.u64, FFIType.u64, FFIType.u64], returns: FFIType.i32 },
    waitpid: { args: [FFIType.i32, FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
  })
  if (symbols.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) !== 0) throw new Error('This system adopts no strays')
  const running = new Set<Own>()
  return {
    own(leader, mark) {
      const own = { leader, mark }
      running.add(own)
      return { release: () => void running.delete(own) }
    },
    async end() {
      for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        const strays = await listStrays(running)
        if (strays.length === 0) return
        for (const pid of strays) endProcess(pid)
        await sleep(REAP_MS)
        for (const pid of strays) symbols.waitpid(pid, null, WNOHANG)
      }
    },
  }
}

async function listStrays(running: ReadonlySet<Own>): Promise<number[]> {
  const names = await readdir('/proc')
  const found = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(readParents))
  const children = found.filter((one) => one !== null).filter(({ parent }) => parent === process.pid)
  const strays: number[] = []
  for (const { pid, group } of children) {
    const environment = await readEnvironmentOf(pid)
    const isOwn = [...running].some(({ leader, mark }) => group === leader || environment.includes(mark))
    if (!isOwn) strays.push(pid)
  }
  return strays
}

/** Null for one that has ended meanwhile (proc(5): the name, in parentheses, may hold anything). */
async function readParents(name: string): Promise<{ pid: number; parent: number; group: number } | null> {
  const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
  const [, parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return parent === undefined ? null : { pid: Number(name), parent: Number(parent), group: Number(group) }
}
