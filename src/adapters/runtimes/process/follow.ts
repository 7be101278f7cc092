import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../../core/clock.ts'
import { withAppErrors } from '../../../core/concurrency/keyed-queue.ts'
import type { LogLine } from '../contract/runtime.ts'
import type { ProcessLog } from './log.ts'

/** `isOver` says that the agent was removed or the runtime closed. */
export type FollowOptions = {
  after: string | null
  signal: AbortSignal
  isOver: () => boolean
  clock: Clock
  pollMs: number
}

/**
 * The lines after a cursor and those to come. They have no time of their own: `at` is when they were read. Both streams
 * share a file and are told as `stdout`; what was overwritten before it could be read is told in bytes.
 */
export async function* followLog(log: ProcessLog, options: FollowOptions): AsyncGenerator<LogLine, void> {
  const { signal, isOver, clock, pollMs } = options
  let cursor = options.after
  let logId: string | null = null
  while (!signal.aborted) {
    const found = await read(log, cursor, isOver)
    // Another log is that of another agent, which has the name of the one that was removed.
    if (!found || (logId !== null && found.id !== logId)) return
    logId = found.id
    const at = clock.now()
    if (found.skippedBytes > 0) {
      const text = `[${found.skippedBytes} bytes were overwritten before they could be read]`
      yield { cursor: found.startCursor, at, stream: 'stderr', text }
    }
    for (const line of found.lines) {
      yield { cursor: line.cursor, at, stream: 'stdout', text: line.text }
      cursor = line.cursor
    }
    if (found.lines.length === 0) await sleep(pollMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Null when there is nothing to follow any more. */
async function read(log: ProcessLog, cursor: string | null, isOver: () => boolean) {
  try {
    return isOver() ? null : await withAppErrors(() => log.readAfter(cursor))
  } catch (error) {
    // The agent's folder went while it was being read.
    if (isOver()) return null
    throw error
  }
}
