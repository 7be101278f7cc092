import type { Clock } from '../../core/clock.ts'
import type { Db } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { ToolEventRequest } from './schemas.ts'
import { toolEvents } from './tables.ts'

/** Keeps what an agent says of the tools it used (Spec 2, Tool event). */
export async function recordToolEvents(
  deps: { db: Db; clock: Clock },
  by: { userId: string; agentId: string },
  { events }: ToolEventRequest,
): Promise<void> {
  const createdAt = deps.clock.now()
  const rows = events.map((event) => ({
    ...by,
    sessionId: event.session_id ?? null,
    toolName: event.tool_name,
    success: event.success,
    durationMs: event.duration_ms ?? null,
    createdAt,
  }))
  await write(deps.db, (tx) => tx.insert(toolEvents).values(rows).run())
}
