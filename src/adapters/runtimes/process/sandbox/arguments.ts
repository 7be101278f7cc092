/**
 * A path inside of a sandbox. `read-only` and `read-write` show the path of the host (or `source`), and are left out
 * when it does not exist; `empty` is an empty folder in memory, which hides the host's folder.
 */
export type Mount =
  | { kind: 'read-only' | 'read-write'; path: string; source?: string }
  | { kind: 'empty'; path: string; sizeBytes: number; isWritable: boolean }

/**
 * The files, network and user that one program gets from bubblewrap. `network`: `host` shares the network of the host, `none` leaves a
 * loopback device only. `uid`: bubblewrap runs as root, and the command as this user and group; null: it runs as the
 * platform's user, in a user namespace in which no further ones can be created.
 */
export type Sandbox = {
  bubblewrap: string
  mounts: readonly Mount[]
  network: 'host' | 'none'
  uid: number | null
  /** A file descriptor with a compiled seccomp filter; null for none. */
  filterFd: number | null
  folder: string
  command: readonly string[]
}

/** Returns the command line that runs `sandbox.command` with bubblewrap. */
export function toSandboxCommand(sandbox: Sandbox): string[] {
  return [
    sandbox.bubblewrap,
    ...toNamespaces(sandbox),
    ...toPrivileges(sandbox),
    ...toRoot(sandbox.mounts),
    ...(sandbox.filterFd === null ? [] : ['--seccomp', String(sandbox.filterFd)]),
    ...toCommand(sandbox),
  ]
}

/** Root without its capabilities cannot enter the folder of another user, so that user does. */
function toCommand({ uid, folder, command }: Sandbox): string[] {
  if (uid === null) return ['--chdir', folder, '--', ...command]
  const change = ['setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--no-new-privs', '--']
  return ['--chdir', '/', '--', ...change, '/bin/sh', '-c', 'cd "$0" && exec "$@"', folder, ...command]
}

function toNamespaces({ network }: Sandbox): string[] {
  return [
    '--die-with-parent',
    '--new-session',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(network === 'none' ? ['--unshare-net'] : []),
  ]
}

/** Changing the user needs two capabilities, which the new user does not keep. */
function toPrivileges({ uid }: Sandbox): string[] {
  if (uid !== null) return ['--cap-drop', 'ALL', '--cap-add', 'CAP_SETUID', '--cap-add', 'CAP_SETGID']
  return ['--unshare-user', '--disable-userns', '--cap-drop', 'ALL']
}

const SHARED_MEMORY_BYTES = 64 * 1024 * 1024

/** An empty root, on which everything else is mounted. It is read-only at the end: it would have no size limit. */
function toRoot(mounts: readonly Mount[]): string[] {
  const shared: Mount = { kind: 'empty', path: '/dev/shm', sizeBytes: SHARED_MEMORY_BYTES, isWritable: true }
  return [
    ...['--proc', '/proc', '--dev', '/dev', ...toMount(shared), '--remount-ro', '/dev'],
    ...withParents(byDepth(mounts)),
    ...['--remount-ro', '/'],
  ]
}

/** Sorts mounts so that none hides an inner one. */
function byDepth(mounts: readonly Mount[]): Mount[] {
  const depthOf = ({ path }: Mount) => path.split('/').filter(Boolean).length
  return [...mounts].sort((a, b) => depthOf(a) - depthOf(b))
}

/** Creates the folders above each mount; bubblewrap would create those above a private folder as private ones. */
function withParents(mounts: readonly Mount[]): string[] {
  return mounts.flatMap((mount, index) => {
    const exists = (path: string) => mounts.slice(0, index).some((other) => isAtOrBelow(other.path, path))
    const missing = listParents(mount.path).filter((path) => !exists(path))
    return [...missing.flatMap((path) => ['--perms', '0755', '--dir', path]), ...toMount(mount)]
  })
}

function isAtOrBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** Lists the folders above a path, outermost first. */
function listParents(path: string): string[] {
  const names = path.split('/').filter(Boolean).slice(0, -1)
  return names.map((_name, index) => `/${names.slice(0, index + 1).join('/')}`)
}

function toMount(mount: Mount): string[] {
  if (mount.kind !== 'empty') {
    const option = mount.kind === 'read-only' ? '--ro-bind-try' : '--bind-try'
    return [option, mount.source ?? mount.path, mount.path]
  }
  const mode = mount.isWritable ? '1777' : '0755'
  return ['--perms', mode, '--size', String(mount.sizeBytes), '--tmpfs', mount.path]
}
