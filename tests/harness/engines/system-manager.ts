import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tempFolder } from '../temp-folder.ts'
import { until } from '../until.ts'
import { removeGroup } from './user-manager.ts'

const SYSTEMD = ['/lib/systemd/systemd', '/usr/lib/systemd/systemd'].find(existsSync)
/** With both cgroup versions, version 2 is mounted below version 1. */
const GROUPS = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((folder) => existsSync(join(folder, 'cgroup.procs')))
const PATH = '/usr/sbin:/usr/bin:/sbin:/bin'
const TARGET = 'stead-test.target'

/**
 * Builds a root file system from this machine's programs, because systemd empties temporary folders and starts
 * installed services. Units of a whole machine are masked.
 */
const BEGIN = `set -e
root=$0/root
mount -t tmpfs -o mode=755 tmpfs "$root" && cd "$root"
mkdir usr etc var tmp run proc sys dev root home srv old && chmod 1777 tmp
for name in bin sbin lib lib32 lib64; do
  if [ -L "/$name" ]; then ln -s "usr/$name" $name; elif [ -d "/$name" ]; then mkdir $name; mount --rbind -o ro "/$name" $name; fi
done
mount --rbind -o ro /usr usr
mount -t tmpfs tmpfs run && mkdir run/lock
mount -t proc proc proc && mount -t sysfs sysfs sys && mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev && mkdir dev/shm dev/pts
for name in null zero full random urandom tty; do touch dev/$name; mount --bind /dev/$name dev/$name; done
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts && ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd && touch dev/console && mount --bind "$0/console" dev/console
for name in alternatives ld.so.cache ld.so.conf ld.so.conf.d nsswitch.conf ssl hosts; do
  if [ -e /etc/$name ]; then cp -a /etc/$name etc/; fi
done
printf 'root:x:0:0::/root:/bin/sh\\nstead:x:990:990::/var/lib/stead:/usr/sbin/nologin\\n' > etc/passwd
printf 'root:x:0:\\nstead:x:990:\\n' > etc/group
tr -d - < /proc/sys/kernel/random/uuid > etc/machine-id
mkdir -p etc/systemd/system var/lib
printf '[Unit]\\nDefaultDependencies=no\\n' > etc/systemd/system/${TARGET}
for unit in /usr/lib/systemd/system/*.target.wants/*; do ln -sfn /dev/null "etc/systemd/system/$(basename "$unit")"; done
mount --bind "$0/srv" srv
pivot_root . old && umount -l old && rmdir old
exec env container=test ${SYSTEMD} --system --unit=${TARGET} --log-target=console --show-status=no`

export type SystemManager = AsyncDisposable & {
  /** Path of the folder mounted at `/srv` inside. */
  outside: string
  /** Runs a command as root in the namespace. */
  run(...command: string[]): { exitCode: number; stdout: string; stderr: string }
}

/**
 * Starts systemd as the first process of a namespace, with a user `stead` and this machine's network. Returns null if
 * systemd is missing or may not be started.
 */
export async function openSystemManager(): Promise<SystemManager | null> {
  if (SYSTEMD === undefined || GROUPS === undefined || process.getuid?.() !== 0) return null
  const folder = tempFolder()
  const group = join(GROUPS, `stead-system-${process.pid}`)
  for (const name of ['root', 'srv']) mkdirSync(folder.file(name))
  chmodSync(folder.path, 0o755)
  writeFileSync(folder.file('console'), '')
  const begin = ['unshare', '--pid', '--mount', '--propagation', 'private', '--cgroup', '--uts', '--ipc', '--fork']
  try {
    mkdirSync(group)
  } catch {
    folder[Symbol.dispose]()
    return null
  }
  // The group must be entered before it becomes the root of a namespace.
  const enter = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
  const manager = Bun.spawn(
    ['sh', '-c', enter, group, ...begin, '--kill-child=SIGKILL', 'sh', '-c', BEGIN, folder.path],
    { env: { PATH, LANG: 'C.UTF-8' }, stdio: ['ignore', 'ignore', 'ignore'] },
  )
  const run = (...command: string[]) => runInside(manager.pid, command)
  const isUp = () => run('systemctl', 'is-active', TARGET).stdout.trim() === 'active'
  await until('the manager of services', () => manager.exitCode !== null || isUp())
  const opened: SystemManager = {
    ...{ outside: folder.file('srv'), run },
    async [Symbol.asyncDispose]() {
      manager.kill('SIGKILL')
      await manager.exited
      await until('the end of its services', () => removeGroup(group))
      folder[Symbol.dispose]()
    },
  }
  if (manager.exitCode === null) return opened
  await opened[Symbol.asyncDispose]()
  return null
}

function runInside(parent: number, command: string[]): { exitCode: number; stdout: string; stderr: string } {
  const first = Bun.spawnSync(['ps', '-o', 'pid=', '--ppid', String(parent)])
    .stdout.toString()
    .trim()
  if (first === '') return { exitCode: 1, stdout: '', stderr: 'it has not begun' }
  const spaces = ['--mount', '--pid', '--uts', '--ipc', '--cgroup', '--root', '--wd']
  const { exitCode, stdout, stderr } = Bun.spawnSync(['nsenter', '--target', first, ...spaces, ...command], {
    env: { PATH, LANG: 'C.UTF-8' },
  })
  return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() }
}
