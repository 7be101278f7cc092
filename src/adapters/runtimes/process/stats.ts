import { withAppErrors } from '../../../core/concurrency/keyed-queue.ts'
import type { AgentStats } from '../contract/runtime.ts'
import type { AgentRecord } from './files.ts'
import type { ProcessIdentity } from './spawn.ts'
import type { ProcessTable } from './table.ts'

/** Measures a process with all that it has started; processor time is counted since the last look. */
export class StatsMeter {
  readonly #table: ProcessTable
  #sample: { identity: ProcessIdentity; cpuMs: number; atMs: number } | null = null

  constructor(table: ProcessTable) {
    this.#table = table
  }

  /** Null when nothing of the process is there any more. */
  async measure(identity: ProcessIdentity, record: AgentRecord, now: () => Date): Promise<AgentStats | null> {
    const rows = await withAppErrors(() => this.#table.listGroup(identity.pid))
    if (rows.length === 0) return null
    const atMs = now().getTime()
    const startedMs = record.startedAt ? Date.parse(record.startedAt) : atMs
    const cpuMs = rows.reduce((sum, row) => sum + row.cpuMs, 0)
    const before = this.#sample?.identity === identity ? this.#sample : { cpuMs: 0, atMs: startedMs }
    this.#sample = { identity, cpuMs, atMs }
    return {
      cpuPercent: toPercent(cpuMs - before.cpuMs, atMs - before.atMs),
      memoryBytes: rows.reduce((sum, row) => sum + row.residentBytes, 0),
      memoryLimitBytes: record.spec.limits.memoryBytes,
      processes: rows.length,
      uptimeMs: Math.max(0, atMs - startedMs),
      networkInBytes: null,
      networkOutBytes: null,
      diskReadBytes: null,
      diskWriteBytes: null,
    }
  }
}

function toPercent(cpuMs: number, elapsedMs: number): number {
  return elapsedMs > 0 ? Math.max(0, (cpuMs / elapsedMs) * 100) : 0
}
