import { homedir, release } from 'node:os'
import { toSandboxCommand } from './arguments.ts'
import { listPrograms, listSystemMounts } from './mounts.ts'

/** How the agents of this machine are isolated. `ownUsers`: each agent has a user of its own, which takes root. */
export type Confinement = {
  bubblewrap: string
  programs: readonly string[]
  hidden: readonly string[]
  ownUsers: boolean
  limitsProcesses: boolean
}

/** The confinement of new processes, or the reason why there is none. */
export type Isolating = { confinement: Confinement; reason: null } | { confinement: null; reason: string }

const TRY_MS = 5000

/**
 * Finds out whether agents can be isolated here, by running a program in a sandbox. `hidden` are folders that no agent
 * sees.
 */
export async function findConfinement({
  command,
  path,
  hidden,
}: {
  command: readonly [string, ...string[]]
  path: string
  hidden: readonly string[]
}): Promise<Isolating> {
  if (process.platform !== 'linux') return without('isolation of processes needs Linux')
  const bubblewrap = Bun.which('bwrap', { PATH: path })
  if (bubblewrap === null) return without('bubblewrap is not installed')
  const missing = ['prlimit', 'setpriv'].find((program) => Bun.which(program, { PATH: path }) === null)
  if (missing) return without(`${missing} of util-linux is not installed`)
  const confinement: Confinement = {
    bubblewrap,
    programs: listPrograms(command),
    hidden: [...hidden, homedir()],
    ownUsers: process.getuid?.() === 0,
    limitsProcesses: countsProcessesByNamespace(release()),
  }
  const problem = await tryConfinement(confinement, command, path)
  return problem === null ? { confinement, reason: null } : without(problem)
}

function without(reason: string): Isolating {
  return { confinement: null, reason }
}

/** The user and group of the agent with this port; systemd leaves this range to no one. */
export function toUid(port: number): number {
  return FIRST_UID + port
}

const FIRST_UID = 1_900_000_000

/** Runs a program with the mounts and privileges of an agent. @returns the problem, or null. */
async function tryConfinement(
  { bubblewrap, programs, ownUsers }: Confinement,
  command: readonly [string, ...string[]],
  path: string,
): Promise<string | null> {
  const cmd = toSandboxCommand({
    bubblewrap,
    mounts: [...listSystemMounts(), ...programs.map((program) => ({ kind: 'read-only', path: program }) as const)],
    network: 'host',
    uid: ownUsers ? toUid(1) : null,
    filterFd: null,
    folder: '/tmp',
    command: [
      '/bin/sh',
      '-c',
      '[ -x "$0" ] || { echo "$0 cannot be run by the user of an agent" >&2; exit 1; }',
      command[0],
    ],
  })
  const trial = Bun.spawn({ cmd, env: { PATH: path }, stdio: ['ignore', 'ignore', 'pipe'], timeout: TRY_MS })
  const [code, output] = await Promise.all([trial.exited, trial.stderr.text()])
  if (code === 0) return null
  return `bubblewrap cannot create a sandbox (${output.trim().split('\n')[0] || `it ended with ${code}`})`
}

/** Linux counts the processes of a user by user namespace since 5.14; before, all agents would share the limit. */
export function countsProcessesByNamespace(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number)
  return major > 5 || (major === 5 && minor >= 14)
}
