import { createLog, type Log } from '../../src/core/log.ts'

/** Creates a log that collects its parsed lines. */
export function capturedLog(level = 'trace'): { log: Log; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = []
  return { log: createLog(level, { write: (line) => void lines.push(JSON.parse(line)) }), lines }
}
