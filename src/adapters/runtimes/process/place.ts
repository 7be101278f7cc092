import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../../core/secrets.ts'
import { errorCode } from './files.ts'

/**
 * Where a folder is. `machine` is a hash of the machine's id and `boot` is its present run, each null where there is none
 * to read. `path` is without links, `inode` is the folder's number on its disk. In a container `volume` is where the folder
 * lies on the disk of the host, because there every installation may have the same path.
 */
export type InstanceLocation = {
  machine: string | null
  boot: string | null
  path: string
  volume: string | null
  inode: string
}

/** The files that tell; `containerMarks` are those that stand in containers only. For tests they may be others. */
export type PlaceFiles = { machineIds: string[]; bootId: string; mounts: string; containerMarks: string[] }

const FILES: PlaceFiles = {
  machineIds: ['/etc/machine-id', '/var/lib/dbus/machine-id'],
  bootId: '/proc/sys/kernel/random/boot_id',
  mounts: '/proc/self/mountinfo',
  containerMarks: ['/.dockerenv', '/run/.containerenv'],
}
const ASK_MS = 2000

/** @throws Error when there is no such folder. */
export function readInstanceLocation(folder: string, files = FILES): InstanceLocation {
  const path = realpathSync(folder)
  const machineId = files.machineIds.map(readWord).find((id) => id !== null && id !== 'uninitialized')
  const isContainer = files.containerMarks.some((mark) => existsSync(mark))
  return {
    machine: hash(machineId ?? readMacId()),
    boot: hash(readWord(files.bootId)),
    path,
    volume: isContainer ? findVolume(path, readWord(files.mounts) ?? '') : null,
    inode: String(statSync(path, { bigint: true }).ino),
  }
}

/** What stands at the path of another installation; `unknown` when this user may not look. */
export function findInstance(path: string): { id: string | null } | 'unknown' {
  try {
    lstatSync(path)
    return { id: readFileSync(join(path, 'instance.id'), 'utf8').trim() }
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(errorCode(error)) ? { id: null } : 'unknown'
  }
}

/**
 * The place of `path` on the disk that is mounted there, as `/proc/self/mountinfo` (proc(5)) tells; null when it is on the
 * disk that everything else is on.
 */
export function findVolume(path: string, mounts: string): string | null {
  const isAbove = (point: string) => point !== '/' && (path === point || path.startsWith(`${point}/`))
  const [nearest] = mounts
    .split('\n')
    .map((line) => line.split(' ').slice(3, 5).map(decodeOctal))
    .flatMap(([root, point]) => (root && point && isAbove(point) ? [{ root, point }] : []))
    .sort((a, b) => b.point.length - a.point.length)
  return nearest ? join(nearest.root, path.slice(nearest.point.length)) : null
}

/** Blanks and their like are written in octal. */
function decodeOctal(field: string): string {
  return field.replace(/\\(\d{3})/g, (_whole, code: string) => String.fromCharCode(Number.parseInt(code, 8)))
}

/** Null for a file that is not there, or empty. */
function readWord(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim() || null
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes(errorCode(error))) return null
    throw error
  }
}

function readMacId(): string | null {
  if (process.platform !== 'darwin') return null
  const asked = Bun.spawnSync(['/usr/sbin/ioreg', '-rd1', '-c', 'IOPlatformExpertDevice'], { timeout: ASK_MS })
  return parseMacId(asked.stdout.toString())
}

/** The id of a Mac in what `ioreg` says of it. */
export function parseMacId(text: string): string | null {
  return /"IOPlatformUUID" = "([^"]+)"/.exec(text)?.[1] ?? null
}

/** The id itself is confidential (machine-id(5)): only its hash is kept, and for this program alone. */
function hash(id: string | null): string | null {
  return id === null ? null : sha256(`stead ${id}`)
}
