import { createLog, type Log } from '../../src/core/log.ts'

/** A log whose lines a test can read; each is parsed. */
export function capturedLog(level = 'trace'): { log: Log; lines: Record<string, unknown>[] } {
  const lines: Record<string, unknown>[] = []
  return { log: createLog(level, { write: (line) => void lines.push(JSON.parse(line)) }), lines }
}
