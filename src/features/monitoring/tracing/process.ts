import { readdirSync } from 'node:fs'
import { Counter, Gauge, type Registry } from 'prom-client'

/** What every program tells of itself, under the names that dashboards know. What is returned reads them anew. */
export function registerProcess(registry: Registry): () => void {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  const memory = gauge('process_resident_memory_bytes', 'Resident memory size in bytes.')
  const files = gauge('process_open_fds', 'Number of open file descriptors.')
  gauge('process_start_time_seconds', 'Start time of the process since the epoch in seconds.').set(
    Math.round(performance.timeOrigin) / 1000,
  )
  const cpu = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
    registers: [registry],
  })
  return () => {
    memory.set(process.memoryUsage.rss())
    files.set(countOpenFiles())
    const { user, system } = process.cpuUsage()
    cpu.reset()
    cpu.inc((user + system) / 1e6)
  }
}

/** Only Linux tells; elsewhere there are none. */
function countOpenFiles(): number {
  try {
    return readdirSync('/proc/self/fd').length
  } catch {
    return 0
  }
}
