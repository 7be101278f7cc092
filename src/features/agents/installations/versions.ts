import { AppError } from '../../../core/errors.ts'

/** A machine may be this many minor versions older or newer than the platform. */
const MAX_SKEW = 1

/**
 * Returns why a machine with this version is refused, and the command that helps; null when it is accepted.
 */
export function findSkew(machine: string, platform: string): string | null {
  const [own, other] = [parseVersion(platform), parseVersion(machine)]
  if (!own || !other) return other ? null : `The version ${JSON.stringify(machine.slice(0, 64))} is not understood.`
  const distance = (own.major - other.major) * 1000 + own.minor - other.minor
  if (distance > MAX_SKEW) {
    return `Stead ${machine} on this machine is too old for platform ${platform}: run stead upgrade --from FILE on the machine.`
  }
  if (distance < -MAX_SKEW) {
    return `Platform ${platform} is too old for Stead ${machine} on this machine: run stead upgrade --from FILE on the server.`
  }
  return null
}

/** @throws AppError `conflict` VERSION_UNSUPPORTED. */
export function requireVersion(machine: string, platform: string): void {
  const skew = findSkew(machine, platform)
  if (skew !== null) throw new AppError('conflict', skew, { code: 'VERSION_UNSUPPORTED', version: platform })
}

function parseVersion(text: string): { major: number; minor: number } | null {
  const [, major, minor] = /^v?(\d{1,6})\.(\d{1,3})\.\d{1,6}(?:[-+].*)?$/.exec(text) ?? []
  return major === undefined ? null : { major: Number(major), minor: Number(minor) }
}
