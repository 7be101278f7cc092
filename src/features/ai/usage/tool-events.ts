import { type Clock, toDay } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { ToolEventRequest } from './schemas.ts'
import { addedToolSums, toolDays, toolEvents } from './tables.ts'

function toColumns(event: ToolEventRequest['events'][number]) {
  return {
    sessionId: event.session_id ?? null,
    toolName: event.tool_name,
    success: event.success,
    durationMs: event.duration_ms ?? null,
  }
}

/** Stores an agent's tool uses with their daily sums. */
export async function recordToolEvents(
  deps: { db: Db; clock: Clock },
  by: { userId: string; agentId: string },
  { events }: ToolEventRequest,
): Promise<void> {
  const createdAt = deps.clock.now()
  const rows = events.map((event) => ({ ...by, ...toColumns(event), createdAt }))
  const day = { ...by, day: toDay(createdAt) }
  const sums = sumByTool(events).map((sum) => ({ ...day, ...sum }))
  await write(deps.db, (tx) => {
    tx.insert(toolEvents).values(rows).run()
    const target = [toolDays.userId, toolDays.day, toolDays.agentId, toolDays.toolName]
    tx.insert(toolDays).values(sums).onConflictDoUpdate({ target, set: addedToolSums }).run()
  })
}

function sumByTool(events: ToolEventRequest['events']) {
  return [...Map.groupBy(events, (event) => event.tool_name)].map(([toolName, uses]) => {
    const durations = uses.map((use) => use.duration_ms).filter((ms) => typeof ms === 'number')
    return {
      toolName,
      calls: uses.length,
      successes: uses.filter(({ success }) => success).length,
      timedCalls: durations.length,
      durationMs: durations.reduce((sum, ms) => sum + ms, 0),
    }
  })
}
