import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../../core/secrets.ts'
import { errorCode } from './files.ts'

/**
 * Location of a data folder. `machine` is a hash of the machine id and `boot` of the current boot id, null when
 * unreadable. `path`
 * has no links; `inode` is the folder's inode number. In a container `volume` is the folder's path on the host's
 * disk, because
 * every installation may have the same `path` there.
 */
export type InstanceLocation = {
  machine: string | null
  boot: string | null
  path: string
  volume: string | null
  inode: string
}

/** Files to read; `containerMarks` exist only in containers. Tests override them. */
export type PlaceFiles = { machineIds: string[]; bootId: string; mounts: string; containerMarks: string[] }

const FILES: PlaceFiles = {
  machineIds: ['/etc/machine-id', '/var/lib/dbus/machine-id'],
  bootId: '/proc/sys/kernel/random/boot_id',
  mounts: '/proc/self/mountinfo',
  containerMarks: ['/.dockerenv', '/run/.containerenv'],
}
const ASK_MS = 2000

/** @throws Error when the folder does not exist. */
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

/** Reads the instance at a path; `unknown` when this user may not read it. */
export function findInstance(path: string): { id: string | null } | 'unknown' {
  try {
    lstatSync(path)
    return { id: readFileSync(join(path, 'instance.id'), 'utf8').trim() }
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(errorCode(error)) ? { id: null } : 'unknown'
  }
}

/**
 * Returns the source of the mount that contains `path`, from `/proc/self/mountinfo` (proc(5)); null on the root disk.
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

/** Decodes the octal escapes of blanks. */
function decodeOctal(field: string): string {
  return field.replace(/\\(\d{3})/g, (_whole, code: string) => String.fromCharCode(Number.parseInt(code, 8)))
}

/** Returns null for a missing or empty file. */
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

/** Parses the id of a Mac in the output of `ioreg`. */
export function parseMacId(text: string): string | null {
  return /"IOPlatformUUID" = "([^"]+)"/.exec(text)?.[1] ?? null
}

/** The machine id is confidential (machine-id(5)), so only an application-specific hash is stored. */
function hash(id: string | null): string | null {
  return id === null ? null : sha256(`stead ${id}`)
}
