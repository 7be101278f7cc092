import { closeSync, openSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir, release } from 'node:os'
import { join } from 'node:path'
import type { Isolation } from '../../../../core/agents/isolation.ts'
import type { AgentSpec } from '../../contract/runtime.ts'
import { type Sandbox, toSandboxCommand } from './arguments.ts'
import { listPrograms, listSystemMounts } from './mounts.ts'
import { isNetworkSeparate } from './network.ts'
import { toSystemCallFilter } from './system-call-filter.ts'

/**
 * How the agents of this machine are isolated. `ownUsers`: each agent has a user of its own, which takes root.
 * `filterFile` holds the filter of system calls; null on architectures without one. `sockets` is the folder of the
 * platform's sockets, which are all that agents reach; null where they share the network of the host, for the reason in
 * `whyShared`.
 */
export type Confinement = {
  bubblewrap: string
  programs: readonly string[]
  hidden: readonly string[]
  filterFile: string | null
  ownUsers: boolean
  limitsProcesses: boolean
  sockets: string | null
  whyShared: string | null
}

/** The confinement of new processes, or the reason why there is none. */
export type Isolating = { confinement: Confinement; reason: null } | { confinement: null; reason: string }

const TRY_MS = 5000

/**
 * Finds out whether agents can be isolated here, by running a program in a sandbox. `dir` is a folder of the runtime;
 * `hidden` are further folders that no agent sees. `user` tries as another user, which takes root; null for the present one.
 */
export async function findConfinement({
  dir,
  command,
  path,
  hidden = [],
  user = null,
}: {
  dir: string
  command: readonly [string, ...string[]]
  path: string
  hidden?: readonly string[]
  user?: string | null
}): Promise<Isolating> {
  if (process.platform !== 'linux') return without('isolation of processes needs Linux')
  const bubblewrap = Bun.which('bwrap', { PATH: path })
  if (bubblewrap === null) return without('bubblewrap is not installed')
  const missing = ['prlimit', 'setpriv'].find((program) => Bun.which(program, { PATH: path }) === null)
  if (missing) return without(`${missing} of util-linux is not installed`)
  const confinement: Confinement = {
    bubblewrap,
    programs: listPrograms(command),
    hidden: [dir, ...hidden, homedir()],
    filterFile: await writeFilter(dir),
    ownUsers: process.getuid?.() === 0 && user === null,
    limitsProcesses: countsProcessesByNamespace(release()),
    sockets: join(dir, '.sockets'),
    whyShared: null,
  }
  const asUser = user === null ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--init-groups', '--']
  const tryWith = (network: Sandbox['network']) => tryConfinement(confinement, command, { path, asUser, network })
  const whyShared = isTooLong(confinement.sockets) ? 'the path of the data folder is too long' : await tryWith('none')
  if (whyShared === null) return { confinement, reason: null }
  const problem = await tryWith('host')
  return problem === null
    ? { confinement: { ...confinement, sockets: null, whyShared }, reason: null }
    : without(problem)
}

/** The address of a Unix socket has at most 107 bytes. */
const MAX_FOLDER_BYTES = 95

function isTooLong(sockets: string | null): boolean {
  return Buffer.byteLength(sockets ?? '') > MAX_FOLDER_BYTES
}

/** The network is the host's, and with it sockets that have a name but no file. */
const SHARED = 'it shares the network of the host, and abstract sockets with it'

/** Describes the isolation of a process that starts now with these variables. */
export function toIsolation({ confinement, reason }: Isolating, environment: AgentSpec['environment']): Isolation {
  if (confinement === null) return { by: null, reason, egressEnforced: false }
  if (isNetworkSeparate(confinement, environment)) return { by: 'bubblewrap', reason: null, egressEnforced: true }
  const { whyShared } = confinement
  return { by: 'bubblewrap', reason: whyShared ? `${SHARED}: ${whyShared}` : SHARED, egressEnforced: false }
}

function without(reason: string): Isolating {
  return { confinement: null, reason }
}

/** The user and group of the agent with this port; systemd leaves this range to no one. */
export function toUid(port: number): number {
  return FIRST_UID + port
}

const FIRST_UID = 1_900_000_000

async function writeFilter(dir: string): Promise<string | null> {
  const filter = toSystemCallFilter(process.arch)
  if (filter === null) return null
  const file = join(dir, '.system-call-filter')
  await mkdir(dir, { recursive: true, mode: 0o700 })
  await writeFile(file, filter, { mode: 0o600 })
  return file
}

/** The descriptor of the filter in a process that is started with the handle of `withFilter` after its standard ones. */
export const FILTER_FD = 3

/** Opens the filter for a new process while `use` starts it. */
export function withFilter<T>({ filterFile }: Pick<Confinement, 'filterFile'>, use: (handles: number[]) => T): T {
  if (filterFile === null) return use([])
  const handle = openSync(filterFile, 'r')
  try {
    return use([handle])
  } finally {
    closeSync(handle)
  }
}

/** Runs a program with the mounts and privileges of an agent; `asUser` starts the command line. @returns the problem, or null. */
async function tryConfinement(
  confinement: Confinement,
  command: readonly [string, ...string[]],
  { path, asUser, network }: { path: string; asUser: readonly string[]; network: Sandbox['network'] },
): Promise<string | null> {
  const { bubblewrap, programs, ownUsers } = confinement
  const sandboxed = toSandboxCommand({
    bubblewrap,
    mounts: [...listSystemMounts(), ...programs.map((program) => ({ kind: 'read-only', path: program }) as const)],
    network,
    uid: ownUsers ? toUid(1) : null,
    filterFd: confinement.filterFile === null ? null : FILTER_FD,
    folder: '/tmp',
    command: [
      '/bin/sh',
      '-c',
      '[ -x "$0" ] || { echo "$0 cannot be run by the user of an agent" >&2; exit 1; }',
      command[0],
    ],
  })
  const trial = withFilter(confinement, (handles) =>
    Bun.spawn({
      cmd: [...asUser, ...sandboxed],
      ...{ cwd: '/', env: { PATH: path }, stdio: ['ignore', 'ignore', 'pipe', ...handles], timeout: TRY_MS },
    }),
  )
  const [code, output] = await Promise.all([trial.exited, trial.stderr.text()])
  if (code === 0) return null
  return `bubblewrap cannot create a sandbox (${output.trim().split('\n')[0] || `it ended with ${code}`})`
}

/** Linux counts the processes of a user by user namespace since 5.14; before, all agents would share the limit. */
export function countsProcessesByNamespace(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number)
  return major > 5 || (major === 5 && minor >= 14)
}
