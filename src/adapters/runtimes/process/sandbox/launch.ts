import { lchown, lstat, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AgentSpec } from '../../contract/runtime.ts'
import { toSandboxCommand } from './arguments.ts'
import { type Confinement, FILTER_FD, toUid } from './confinement.ts'
import { listAgentMounts, type SandboxFolder } from './mounts.ts'
import { isNetworkSeparate, listSocketMounts } from './network.ts'

/** Address space that the engines of Bun and Node reserve without using it. */
const RESERVED_BYTES = 1024 ** 3
const MAX_FILES = 4096

/**
 * Keeps bubblewrap's parent alive when the platform ends, so that the sandbox ends with that parent only. When memory
 * is short, the kernel ends agents first; a file that exceeds its limit is an error of the write, not a signal.
 */
const SUPERVISE = `echo 1000 > /proc/self/oom_score_adj; trap '' XFSZ; "$@"; exit $?`

/** Returns the command that runs `command` for an agent in its sandbox. */
export function toConfinedCommand(
  confinement: Confinement,
  folder: SandboxFolder,
  { port, limits, environment }: Pick<AgentSpec, 'port' | 'limits' | 'environment'>,
  command: readonly string[],
): string[] {
  const isSeparate = isNetworkSeparate(confinement, environment)
  const sockets = isSeparate ? listSocketMounts(confinement.sockets ?? '', folder.sockets) : []
  const sandboxed = toSandboxCommand({
    bubblewrap: confinement.bubblewrap,
    mounts: [...listAgentMounts(folder, confinement), ...sockets],
    network: isSeparate ? 'none' : 'host',
    uid: confinement.ownUsers ? toUid(port) : null,
    filterFd: confinement.filterFile === null ? null : FILTER_FD,
    folder: folder.state,
    command: ['prlimit', ...toLimits(limits, confinement), '--', ...command],
  })
  return ['/bin/sh', '-c', SUPERVISE, 'stead-agent', ...sandboxed]
}

function toLimits(
  { memoryBytes, processes }: AgentSpec['limits'],
  { limitsProcesses, ownUsers }: Confinement,
): string[] {
  return [
    '--core=0',
    `--nofile=${MAX_FILES}`,
    `--data=${memoryBytes + RESERVED_BYTES}`,
    ...(limitsProcesses || ownUsers ? [`--nproc=${processes}`] : []),
  ]
}

/** Gives an agent's folders to its user, and names that user. The agent must have no process. */
export async function prepareConfined({ ownUsers }: Confinement, folder: SandboxFolder, port: number): Promise<void> {
  const uid = ownUsers ? toUid(port) : (process.getuid?.() ?? 0)
  const gid = ownUsers ? uid : (process.getgid?.() ?? 0)
  await rm(folder.sockets, { recursive: true, force: true })
  await mkdir(folder.sockets, { mode: 0o700 })
  await writeFile(folder.passwd, `agent:x:${uid}:${gid}::${folder.state}:/bin/sh\n`, { mode: 0o644 })
  if (!ownUsers) return
  await giveTo(folder.secrets, uid)
  await giveTo(folder.sockets, uid)
  if ((await lstat(folder.state)).uid !== uid) await giveTo(folder.state, uid)
}

/** The folder itself last: it shows whether all below it was given. */
async function giveTo(path: string, uid: number): Promise<void> {
  if ((await lstat(path)).isDirectory()) {
    for (const name of await readdir(path)) await giveTo(join(path, name), uid)
  }
  await lchown(path, uid, uid)
}
