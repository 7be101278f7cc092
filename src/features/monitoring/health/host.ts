import { cpus, freemem, totalmem } from 'node:os'
import type { HostHealth } from './schemas.ts'

/**
 * Measures CPU and memory of the machine. CPU usage is the average since the previous call, at least half a second ago.
 */
export function createHostProbe(): () => HostHealth {
  let before = readCpuTimes()
  let usage = 0
  return () => {
    const now = readCpuTimes()
    if (now.at - before.at >= 500) {
      usage = toPercent(now.busyMs - before.busyMs, now.totalMs - before.totalMs)
      before = now
    }
    const total = totalmem()
    const free = freemem()
    const memory = { usage: toPercent(total - free, total), total, used: total - free, free }
    return {
      health: rateLoad(Math.max(usage, memory.usage)),
      cpu: { usage, cores: cpus().length },
      memory,
      uptime: Math.floor(process.uptime()),
    }
  }
}

/** Rates a load: healthy up to 70 percent, degraded up to 85, unhealthy above. */
export function rateLoad(percent: number): HostHealth['health'] {
  if (percent <= 70) return 'healthy'
  return percent <= 85 ? 'degraded' : 'unhealthy'
}

function readCpuTimes(): { at: number; busyMs: number; totalMs: number } {
  let busyMs = 0
  let totalMs = 0
  for (const { times } of cpus()) {
    const busy = times.user + times.nice + times.sys + times.irq
    busyMs += busy
    totalMs += busy + times.idle
  }
  return { at: performance.now(), busyMs, totalMs }
}

function toPercent(part: number, whole: number): number {
  return whole > 0 ? Math.round((part / whole) * 1000) / 10 : 0
}
