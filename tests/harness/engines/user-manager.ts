import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'

const SYSTEMD = ['/lib/systemd/systemd', '/usr/lib/systemd/systemd'].find(existsSync)
/** With both cgroup versions, systemd needs a group in each. */
const GROUPS = ['/sys/fs/cgroup/systemd', '/sys/fs/cgroup/unified'].filter(existsSync)
/** Mount point of the test's folder, because services have private temporary folders. */
const ROOT = '/srv'
const HOME = `${ROOT}/home`
const RUNTIME = `${ROOT}/run`

/** systemd starts only if `/run/systemd/system` exists. A private mount creates it without affecting the machine. */
const BEGIN = `mkdir -p /run/systemd && mount -t tmpfs none /run/systemd && mkdir -p /run/systemd/system &&
mount --bind "$0" ${ROOT} && mkdir -p ${HOME} && mkdir -m 700 ${RUNTIME} &&
for group in "$@"; do echo $$ > "$group/cgroup.procs"; done &&
exec ${SYSTEMD} --user --log-target=null`

export type UserManager = AsyncDisposable & {
  /** `HOME` of commands and services. */
  home: string
  /** Path of the mounted folder outside of the namespace. */
  outside: string
  run(...command: string[]): { exitCode: number; stdout: string; stderr: string }
}

/**
 * Starts systemd for the services of one user, with its own folders. Returns null if systemd is missing or may not be
 * started.
 */
export async function openUserManager(): Promise<UserManager | null> {
  if (SYSTEMD === undefined || process.getuid?.() !== 0) return null
  const folder = tempFolder()
  const groups = (GROUPS.length > 0 ? GROUPS : ['/sys/fs/cgroup']).map((parent) => join(parent, `stead-${process.pid}`))
  const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME, XDG_RUNTIME_DIR: RUNTIME, LANG: 'C.UTF-8' }
  try {
    for (const group of groups) mkdirSync(group)
  } catch {
    folder[Symbol.dispose]()
    return null
  }
  const begin = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', BEGIN, folder.path, ...groups]
  const manager = Bun.spawn(begin, { env: environment, stdio: ['ignore', 'ignore', 'ignore'] })
  const run = (...command: string[]) => {
    const inside = ['nsenter', '--target', String(manager.pid), '--mount', `--wd=${ROOT}`, ...command]
    const { exitCode, stdout, stderr } = Bun.spawnSync(inside, { env: environment })
    return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() }
  }
  const isUp = () => /^(?:running|degraded|starting)$/m.test(run('systemctl', '--user', 'is-system-running').stdout)
  await until('the manager of services', () => manager.exitCode !== null || isUp())
  const opened: UserManager = {
    ...{ home: HOME, outside: folder.path, run },
    async [Symbol.asyncDispose]() {
      run('systemctl', '--user', 'exit')
      await manager.exited
      for (const group of groups) await until('the end of its services', () => removeGroup(group))
      folder[Symbol.dispose]()
    },
  }
  if (manager.exitCode === null) return opened
  await opened[Symbol.asyncDispose]()
  return null
}

/** Ends the processes of a control group and removes it. @returns whether it is gone. */
export function removeGroup(group: string): boolean {
  if (!existsSync(group)) return true
  for (const entry of readdirSync(group, { withFileTypes: true })) {
    if (entry.isDirectory()) removeGroup(join(group, entry.name))
  }
  for (const pid of readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL')
    } catch {
      // The process has already exited.
    }
  }
  try {
    rmdirSync(group)
  } catch {
    // A killed process may still be exiting; the caller retries.
  }
  return !existsSync(group)
}
