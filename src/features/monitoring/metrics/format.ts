import type { RuntimeStats } from '../../../adapters/runtimes/contract/runtime.ts'

const BINARY_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
const DECIMAL_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']
const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Shown where a runtime cannot measure a value. */
export const NOT_MEASURED = 'N/A'

/**
 * Formats resource usage as existing clients expect: `cpu` "12.5%", `memory` "100MiB / 1GiB", `network` "1.2kB /
 * 3.4kB".
 */
export function formatStats(stats: RuntimeStats) {
  return {
    cpu: formatPercent(stats.cpuPercent),
    memory: `${formatBinaryBytes(stats.memoryBytes)} / ${formatBinaryBytes(stats.memoryLimitBytes)}`,
    memoryPercent: formatPercent(toPercent(stats.memoryBytes, stats.memoryLimitBytes)),
    network: formatTraffic(stats.networkInBytes, stats.networkOutBytes),
    blockIO: formatTraffic(stats.diskReadBytes, stats.diskWriteBytes),
    pids: String(stats.processes),
    uptime: Math.round(stats.uptimeMs),
    uptimeFormatted: formatUptime(stats.uptimeMs),
  }
}

/** Returns `part` as percent of `whole`, 0 when `whole` is 0. */
export function toPercent(part: number, whole: number): number {
  return whole > 0 ? (part / whole) * 100 : 0
}

export function formatPercent(percent: number): string {
  return `${round(percent, 1)}%`
}

/** Formats bytes in powers of 1024 as container engines do: "128MiB", "1.95GiB". */
export function formatBinaryBytes(bytes: number): string {
  return scale(bytes, 1024, BINARY_UNITS)
}

/** Formats two byte counts in powers of 1000: "1.2kB / 3.4kB". */
export function formatTraffic(inBytes: number | null, outBytes: number | null): string {
  if (inBytes === null || outBytes === null) return NOT_MEASURED
  return `${scale(inBytes, 1000, DECIMAL_UNITS)} / ${scale(outBytes, 1000, DECIMAL_UNITS)}`
}

/** Formats a duration as "1d 0h", "2h 5m", "5m 3s" or "3s". */
export function formatUptime(uptimeMs: number): string {
  const [days, hours, minutes, seconds] = [
    Math.floor(uptimeMs / DAY_MS),
    Math.floor((uptimeMs % DAY_MS) / HOUR_MS),
    Math.floor((uptimeMs % HOUR_MS) / MINUTE_MS),
    Math.floor((uptimeMs % MINUTE_MS) / SECOND_MS),
  ]
  if (days > 0) return `${days}d ${hours}h`
  if (hours > 0) return `${hours}h ${minutes}m`
  if (minutes > 0) return `${minutes}m ${seconds}s`
  return `${seconds}s`
}

/** Formats a duration as container engines do: "Up 2 hours". */
export function formatUpFor(uptimeMs: number): string {
  return `Up ${toWords(uptimeMs)}`
}

function toWords(ms: number): string {
  if (ms < SECOND_MS) return 'Less than a second'
  if (ms < MINUTE_MS) return count(ms / SECOND_MS, 'second')
  if (ms < 2 * MINUTE_MS) return 'About a minute'
  if (ms < HOUR_MS) return count(ms / MINUTE_MS, 'minute')
  if (ms < 2 * HOUR_MS) return 'About an hour'
  if (ms < 2 * DAY_MS) return count(ms / HOUR_MS, 'hour')
  if (ms < 14 * DAY_MS) return count(ms / DAY_MS, 'day')
  if (ms < 60 * DAY_MS) return count(ms / (7 * DAY_MS), 'week')
  if (ms < 730 * DAY_MS) return count(ms / (30 * DAY_MS), 'month')
  return count(ms / (365 * DAY_MS), 'year')
}

function count(amount: number, unit: string): string {
  const whole = Math.floor(amount)
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`
}

/** Keeps two decimals below 10, else one. */
function scale(bytes: number, step: number, units: readonly string[]): string {
  let value = bytes
  let unit = 0
  while (value >= step && unit < units.length - 1) {
    value /= step
    unit += 1
  }
  return `${round(value, value < 10 ? 2 : 1)}${units[unit]}`
}

export function round(value: number, places = 1): number {
  const factor = 10 ** places
  return Math.round(value * factor) / factor
}
