import { dlopen, FFIType } from 'bun:ffi'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { findLibc } from '../../core/libraries/libc.ts'
import { endProcess, readEnvironmentOf } from './end.ts'

/** From prctl(2) and waitpid(2). */
const PR_SET_CHILD_SUBREAPER = 36
const WNOHANG = 1
/** An orphan may start another process while the list is read. */
const MAX_SWEEPS = 200
const REAP_MS = 2

/** Process group and environment mark of a running program. */
type Own = { leader: number; mark: string }

/**
 * Kills orphans: processes that left their group and their marked environment, for example with `env -i setsid`. As the
 * subreaper, this process becomes the parent of every orphan below it.
 */
export type OrphanReaper = {
  /** Registers a program by its process group and its `NAME=value` mark until it is released. */
  own(leader: number, mark: string): { release(): void }
  /** Kills children that belong to no registered program. */
  end(): Promise<void>
}

/**
 * Makes this process the subreaper of its descendants. Programs that it starts must be registered with `own`, otherwise
 * `end` kills them.
 * @throws Error on systems without subreapers.
 */
export function becomeSubreaper(): OrphanReaper {
  const { symbols } = dlopen(findLibc(), {
    prctl: { args: [FFIType.i32, FFIType.u64, FFIType.u64, FFIType.u64, FFIType.u64], returns: FFIType.i32 },
    waitpid: { args: [FFIType.i32, FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
  })
  if (symbols.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) !== 0) throw new Error('prctl: this system has no subreapers')
  const running = new Set<Own>()
  return {
    own(leader, mark) {
      const own = { leader, mark }
      running.add(own)
      return { release: () => void running.delete(own) }
    },
    async end() {
      for (let sweep = 0; sweep < MAX_SWEEPS; sweep++) {
        const orphans = await listOrphans(running)
        if (orphans.length === 0) return
        for (const pid of orphans) endProcess(pid)
        await sleep(REAP_MS)
        for (const pid of orphans) symbols.waitpid(pid, null, WNOHANG)
      }
    },
  }
}

async function listOrphans(running: ReadonlySet<Own>): Promise<number[]> {
  const names = await readdir('/proc')
  const found = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map(readParents))
  const children = found.filter((one) => one !== null).filter(({ parent }) => parent === process.pid)
  const orphans: number[] = []
  for (const { pid, group } of children) {
    const environment = await readEnvironmentOf(pid)
    const isOwn = [...running].some(({ leader, mark }) => group === leader || environment.includes(mark))
    if (!isOwn) orphans.push(pid)
  }
  return orphans
}

/** Returns null for a process that has ended. The name in parentheses may contain any character (proc(5)). */
async function readParents(name: string): Promise<{ pid: number; parent: number; group: number } | null> {
  const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
  const [, parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return parent === undefined ? null : { pid: Number(name), parent: Number(parent), group: Number(group) }
}
