import { existsSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import type { Mount } from './arguments.ts'

/** Programs and libraries; the folders are missing on systems that do not have them. */
const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/gnu/store']

/** Files of `/etc` without secrets. */
const SYSTEM_FILES = [
  'alternatives',
  'ca-certificates',
  'ca-certificates.conf',
  'crypto-policies',
  'fonts',
  'group',
  'host.conf',
  'hosts',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'mime.types',
  'nsswitch.conf',
  'os-release',
  'pki/ca-trust',
  'pki/tls/certs',
  'pki/tls/openssl.cnf',
  'protocols',
  'resolv.conf',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'timezone',
]

/** Folders of `/proc` with settings of the host; root could change the first even in a sandbox. */
const HOST_SETTINGS = ['/proc/sys', '/proc/irq', '/proc/bus', '/proc/fs', '/proc/acpi', '/proc/scsi']
/** Files of `/proc` that change the host or reveal its memory and keys. */
const HOST_FILES = [
  '/proc/sysrq-trigger',
  '/proc/kcore',
  '/proc/kmsg',
  '/proc/keys',
  '/proc/key-users',
  '/proc/timer_list',
]
const TEMPORARY_BYTES = 64 * 1024 * 1024

/** The files of one agent; `passwd` names its user, and `sockets` is used without a network. */
export type SandboxFolder = { state: string; secrets: string; passwd: string; sockets: string }

/** Lists the mounts of one agent: the system and its program, and its own folder below the hidden ones. */
export function listAgentMounts(
  folder: SandboxFolder,
  { programs, hidden }: { programs: readonly string[]; hidden: readonly string[] },
): Mount[] {
  return [
    ...listSystemMounts(),
    ...programs.map((path): Mount => ({ kind: 'read-only', path })),
    ...listHiding([...SYSTEM_FOLDERS, ...programs], hidden),
    { kind: 'read-only', path: '/etc/passwd', source: folder.passwd },
    { kind: 'read-only', path: folder.secrets },
    { kind: 'read-write', path: folder.state },
  ]
}

/** Lists the mounts that every sandbox has. */
export function listSystemMounts(): Mount[] {
  return [
    ...[...SYSTEM_FOLDERS, ...HOST_SETTINGS].map((path): Mount => ({ kind: 'read-only', path })),
    ...SYSTEM_FILES.map((name): Mount => ({ kind: 'read-only', path: join('/etc', name) })),
    ...HOST_FILES.filter(existsSync).map((path): Mount => ({ kind: 'read-only', path, source: '/dev/null' })),
    { kind: 'empty', path: '/tmp', sizeBytes: TEMPORARY_BYTES, isWritable: true },
  ]
}

/** Hides the folders that would be visible within others. */
function listHiding(visible: readonly string[], hidden: readonly string[]): Mount[] {
  const isVisible = (path: string) => visible.some((folder) => path.startsWith(`${folder}/`))
  return hidden
    .filter((path) => isVisible(path) && existsSync(path))
    .map((path): Mount => ({ kind: 'empty', path, sizeBytes: 4096, isWritable: false }))
}

/**
 * Lists the files and folders that a command needs besides the system: its program, and the packages of scripts, with
 * their dependencies.
 */
export function listPrograms(command: readonly string[]): string[] {
  const paths = command.filter((word) => isAbsolute(word) && existsSync(word))
  const found = paths.flatMap((path) => [path, realpathSync(path)]).map(toPackage)
  return [...new Set(found)].filter((path) => !SYSTEM_FOLDERS.some((folder) => path.startsWith(`${folder}/`)))
}

/** Returns the folder of the package of a script, outside of `node_modules`; else the path itself. */
function toPackage(path: string): string {
  if (!/\.[cm]?[jt]sx?$/.test(path)) return path
  const [outside = path] = path.split('/node_modules/')
  if (outside !== path) return outside
  for (let folder = dirname(path); folder !== '/'; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder
  }
  return path
}
