import { z } from 'zod'
import type { AgentStats } from '../contract/runtime.ts'

const Count = z.number().nonnegative().catch(0)
const Totals = z.record(z.string(), z.object({ rx_bytes: Count, tx_bytes: Count })).nullish()
const BlockIo = z.array(z.object({ op: z.string(), value: z.number() })).nullish()

/** One sample of the engine's counters; it leaves out what it does not count. */
const Sample = z.object({
  cpu_stats: z.object({ cpu_usage: z.object({ total_usage: z.number() }) }),
  memory_stats: z.object({
    usage: z.number().optional(),
    stats: z.record(z.string(), z.number()).optional(),
  }),
  pids_stats: z.object({ current: z.number().optional() }),
  networks: Totals,
  blkio_stats: z.object({ io_service_bytes_recursive: BlockIo }).optional(),
})

/** Processor time that a container had used at some time. */
export type CpuSample = { usedMs: number; atMs: number }

/** What a container uses: `before` is the previous sample of it, or its start. Null when it has no process to count. */
export function toStats(
  raw: unknown,
  facts: { before: CpuSample; now: Date; startedAt: Date; memoryLimitBytes: number },
): { stats: AgentStats; sample: CpuSample } | null {
  const { cpu_stats, memory_stats, pids_stats, networks, blkio_stats } = Sample.parse(raw)
  if (memory_stats.usage === undefined || pids_stats.current === undefined) return null
  const atMs = facts.now.getTime()
  const usedMs = cpu_stats.cpu_usage.total_usage / 1_000_000
  const elapsedMs = atMs - facts.before.atMs
  // The page cache is given back when it is needed: version 2 and version 1 of control groups name it differently.
  const cache = memory_stats.stats?.inactive_file ?? memory_stats.stats?.total_inactive_file ?? 0
  const io = blkio_stats?.io_service_bytes_recursive
  return {
    sample: { usedMs, atMs },
    stats: {
      cpuPercent: elapsedMs > 0 ? Math.max(0, ((usedMs - facts.before.usedMs) / elapsedMs) * 100) : 0,
      memoryBytes: Math.max(0, memory_stats.usage - cache),
      memoryLimitBytes: facts.memoryLimitBytes,
      processes: pids_stats.current,
      uptimeMs: Math.max(0, atMs - facts.startedAt.getTime()),
      networkInBytes: sum(networks, 'rx_bytes'),
      networkOutBytes: sum(networks, 'tx_bytes'),
      diskReadBytes: sumIo(io, 'read'),
      diskWriteBytes: sumIo(io, 'write'),
    },
  }
}

function sum(networks: z.infer<typeof Totals>, count: 'rx_bytes' | 'tx_bytes'): number | null {
  if (!networks) return null
  return Object.values(networks).reduce((total, network) => total + network[count], 0)
}

function sumIo(io: z.infer<typeof BlockIo>, op: string): number | null {
  if (!io) return null
  return io.filter((entry) => entry.op.toLowerCase() === op).reduce((total, entry) => total + entry.value, 0)
}
