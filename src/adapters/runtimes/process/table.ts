import { existsSync } from 'node:fs'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { withAppErrors } from '../../../core/concurrency/keyed-queue.ts'
import type { RuntimeStats } from '../contract/runtime.ts'
import { type AgentRecord, errorCode } from './files.ts'

/** A process. Pids are reused, but not together with the same start time. */
export type ProcessIdentity = { pid: number; startTime: string }

/**
 * A live process. `startTime` distinguishes processes with the same pid and is only compared for equality. `groupId`
 * equals `pid` for a group leader. `isFirstInSandbox`: all others in its namespace end with it.
 */
export type ProcessRow = {
  pid: number
  parentId: number
  groupId: number
  startTime: string
  cpuMs: number
  residentBytes: number
  isFirstInSandbox: boolean
}

/** The processes of this machine, without zombies. */
export type ProcessTable = {
  find(pids: readonly number[]): Promise<ProcessRow[]>
  listGroup(groupId: number): Promise<ProcessRow[]>
  /** Lists the members of a process group and all their descendants. */
  listFamily(groupId: number): Promise<ProcessRow[]>
  /**
   * Lists processes whose environment has `AGENT_DIR=<agentDir>`: all that an agent started, unless it cleared its
   * environment.
   */
  listMarked(agentDir: string): Promise<ProcessRow[]>
  /** Returns the `AGENT_DIR` of a process; null without one, or when it is not readable. */
  markOf(pid: number): Promise<string | null>
  /** Lists processes that have `path` open for writing. Slow; empty without `/proc`. */
  listWriters(path: string): Promise<ProcessRow[]>
}

const MARK = 'AGENT_DIR='

/** Uses `/proc` on Linux, else `ps` (macOS, BSD). */
export function createProcessTable(): ProcessTable {
  return existsSync('/proc/self/stat') ? procTable() : psTable()
}

/** Creates the table from `/proc`. Start times are clock ticks since boot, so they include the boot id. */
function procTable(): ProcessTable {
  const reading = readIfThere('/proc/sys/kernel/random/boot_id')
  const find = async (pids: readonly number[]) => {
    const bootId = (await reading).trim()
    const rows = await Promise.all(pids.map((pid) => readProc(pid, bootId)))
    return rows.filter((row) => row !== null)
  }
  const filter = async (isWanted: (pid: number) => Promise<boolean>) => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
    const wanted = await Promise.all(pids.map(isWanted))
    return find(pids.filter((_pid, index) => wanted[index]))
  }
  return {
    find,
    listGroup: (groupId) =>
      filter(async (pid) => parseStat(await readIfThere(`/proc/${pid}/stat`))?.groupId === groupId),
    async listFamily(groupId) {
      const places = await listPlaces()
      return find([...findFamily(places, groupId)])
    },
    listMarked: (agentDir) =>
      filter(async (pid) => (await readIfThere(`/proc/${pid}/environ`)).split('\0').includes(`${MARK}${agentDir}`)),
    async markOf(pid) {
      const variables = (await readIfThere(`/proc/${pid}/environ`)).split('\0')
      return variables.find((variable) => variable.startsWith(MARK))?.slice(MARK.length) ?? null
    },
    listWriters: (path) => filter((pid) => isWriter(pid, path)),
  }
}

async function isWriter(pid: number, path: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  const handles = await ifThere(() => readdir(folder), [])
  const writes = handles.map((handle) =>
    ifThere(async () => {
      const link = `${folder}/${handle}`
      return (await readlink(link)) === path && ((await lstat(link)).mode & 0o200) !== 0
    }, false),
  )
  return (await Promise.all(writes)).includes(true)
}

async function readProc(pid: number, bootId: string): Promise<ProcessRow | null> {
  const [stat, status] = await Promise.all([readIfThere(`/proc/${pid}/stat`), readIfThere(`/proc/${pid}/status`)])
  const parsed = parseStat(stat)
  if (!parsed) return null
  const residentKib = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0)
  return {
    pid,
    parentId: parsed.parentId,
    groupId: parsed.groupId,
    // Its number in each namespace, from outside to inside.
    isFirstInSandbox: /^NSpid:.*\s1$/m.test(status) && pid !== 1,
    startTime: `${bootId}/${parsed.startTicks}`,
    cpuMs: parsed.cpuTicks * MS_PER_TICK,
    residentBytes: residentKib * 1024,
  }
}

/** `USER_HZ`, which is 100 on every architecture that Bun supports. */
const MS_PER_TICK = 10

/**
 * Parses the fields of proc(5) after the name, which is in parentheses and may contain some. A process whose main
 * thread has ended
 * keeps its files and ports until the other threads end.
 */
function parseStat(stat: string) {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, parentId, groupId] = fields
  const ticks = (index: number) => Number(fields[index] ?? 0)
  const threads = ticks(17)
  if (!state || state === 'X' || (state === 'Z' && threads <= 1)) return null
  // utime, stime, cutime and cstime: without the last two the sum would fall when a child ends.
  return {
    parentId: Number(parentId),
    groupId: Number(groupId),
    cpuTicks: ticks(11) + ticks(12) + ticks(13) + ticks(14),
    startTicks: fields[19] ?? '',
  }
}

/** Where a process is in the tree of processes. */
type ProcessPlace = Pick<ProcessRow, 'pid' | 'parentId' | 'groupId'>

async function listPlaces(): Promise<ProcessPlace[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const places = await Promise.all(
    pids.map(async (pid) => {
      const parsed = parseStat(await readIfThere(`/proc/${pid}/stat`))
      return parsed ? [{ pid, parentId: parsed.parentId, groupId: parsed.groupId }] : []
    }),
  )
  return places.flat()
}

/** Returns the pids of a group and of its descendants. */
function findFamily(places: readonly ProcessPlace[], groupId: number): Set<number> {
  const children = Map.groupBy(places, ({ parentId }) => parentId)
  const family = new Set(places.filter((place) => place.groupId === groupId).map(({ pid }) => pid))
  // A set yields members that are added while it is read.
  for (const pid of family) for (const child of children.get(pid) ?? []) family.add(child.pid)
  return family
}

function readIfThere(path: string): Promise<string> {
  return ifThere(() => readFile(path, 'utf8'), '')
}

/**
 * Returns `otherwise` when the process has ended or belongs to another user. Other errors are thrown: a process that
 * cannot be
 * read for lack of file handles must not count as dead and be started twice.
 */
async function ifThere<T>(read: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(errorCode(error))) return otherwise
    throw error
  }
}

/** Creates the table from `ps`. Start times have a resolution of seconds; only own processes show their environment. */
export function psTable(): ProcessTable {
  const find = async (pids: readonly number[]) =>
    pids.length === 0 ? [] : parseRows(await runPs(['-o', ROW_FORMAT, '-p', pids.join(',')]))
  return {
    find,
    async listGroup(groupId) {
      const rows = parseRows(await runPs(['-A', '-o', ROW_FORMAT]))
      return rows.filter((row) => row.groupId === groupId)
    },
    async listFamily(groupId) {
      const rows = parseRows(await runPs(['-A', '-o', ROW_FORMAT]))
      const family = findFamily(rows, groupId)
      return rows.filter(({ pid }) => family.has(pid))
    },
    async listMarked(agentDir) {
      const lines = (await runPs(['axeww', '-o', 'pid=,command='])).split('\n')
      const marked = lines.filter((line) => `${line} `.includes(` AGENT_DIR=${agentDir} `))
      return find(marked.map((line) => Number.parseInt(line, 10)))
    },
    async markOf(pid) {
      // The value ends at the next variable.
      const line = await runPs(['eww', '-o', 'command=', '-p', String(pid)])
      return / AGENT_DIR=(.*?)(?= [A-Za-z_][A-Za-z0-9_]*=|$)/m.exec(line)?.[1] ?? null
    },
    listWriters: async () => [],
  }
}

const ROW_FORMAT = 'pid=,ppid=,pgid=,stat=,rss=,time=,lstart='

async function runPs(options: string[]): Promise<string> {
  const ps = Bun.spawn({
    cmd: ['ps', ...options],
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' },
    stdout: 'pipe',
    stderr: 'ignore',
    timeout: PS_TIMEOUT_MS,
  })
  const [text, code] = await Promise.all([ps.stdout.text(), ps.exited])
  // `ps` exits with 1 when no pid exists.
  if (code !== 0 && code !== 1) throw new Error(`ps ended with ${code}`)
  return text
}

const PS_TIMEOUT_MS = 5000

function parseRows(text: string): ProcessRow[] {
  return text.split('\n').flatMap((line) => {
    const [pid, parentId, groupId, state, residentKib, cpuTime, ...startTime] = line.trim().split(/\s+/)
    if (!cpuTime || state?.startsWith('Z')) return []
    return [
      {
        pid: Number(pid),
        parentId: Number(parentId),
        isFirstInSandbox: false,
        groupId: Number(groupId),
        startTime: startTime.join(' '),
        cpuMs: parseCpuTime(cpuTime),
        residentBytes: Number(residentKib) * 1024,
      },
    ]
  })
}

/** Parses `[days-][hours:]minutes:seconds`, with a fraction on macOS. */
function parseCpuTime(text: string): number {
  const [clock = '', days = '0'] = text.split('-').reverse()
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return (Number(days) * 86_400 + seconds) * 1000
}

/** Measures a process group and its descendants; CPU time is counted since the last measurement. */
export class StatsMeter {
  readonly #table: ProcessTable
  #sample: { identity: ProcessIdentity; cpuMs: number; atMs: number } | null = null

  constructor(table: ProcessTable) {
    this.#table = table
  }

  /** Returns null when no process is left. */
  async measure(identity: ProcessIdentity, record: AgentRecord, now: () => Date): Promise<RuntimeStats | null> {
    const rows = await withAppErrors(() => this.#table.listFamily(identity.pid))
    if (rows.length === 0) return null
    const atMs = now().getTime()
    const startedMs = record.startedAt ? Date.parse(record.startedAt) : atMs
    const cpuMs = rows.reduce((sum, row) => sum + row.cpuMs, 0)
    const before = this.#sample?.identity === identity ? this.#sample : { cpuMs: 0, atMs: startedMs }
    this.#sample = { identity, cpuMs, atMs }
    return {
      cpuPercent: toPercent(cpuMs - before.cpuMs, atMs - before.atMs),
      memoryBytes: rows.reduce((sum, row) => sum + row.residentBytes, 0),
      memoryLimitBytes: record.spec.limits.memoryBytes,
      processes: withoutSandbox(rows).length,
      uptimeMs: Math.max(0, atMs - startedMs),
      networkInBytes: null,
      networkOutBytes: null,
      diskReadBytes: null,
      diskWriteBytes: null,
    }
  }
}

/** Leaves out the processes of the sandbox itself: its first one, bubblewrap, and what keeps bubblewrap. */
export function withoutSandbox(rows: readonly ProcessRow[]): ProcessRow[] {
  const first = rows.find((row) => row.isFirstInSandbox)
  const outside = rows.find((row) => row.pid === first?.parentId)
  return rows.filter((row) => row !== first && row !== outside && row.pid !== outside?.parentId)
}

function toPercent(cpuMs: number, elapsedMs: number): number {
  return elapsedMs > 0 ? Math.max(0, (cpuMs / elapsedMs) * 100) : 0
}
