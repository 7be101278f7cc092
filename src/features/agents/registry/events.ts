import { eq } from 'drizzle-orm'
import type { AgentEvent, Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { Db } from '../../../db/open.ts'
import { agents } from './tables.ts'

/**
 * What happens to agents where their rows say that they run, until `signal` aborts. What another runtime has under the
 * name of an agent is not that agent.
 */
export async function* watchAgentEvents(
  { db, runtimes }: { db: Db; runtimes: Pick<Runtimes, 'watch'> },
  signal: AbortSignal,
): AsyncGenerator<AgentEvent> {
  for await (const event of runtimes.watch(signal)) {
    const row = db.select({ runtime: agents.runtime }).from(agents).where(eq(agents.id, event.id)).get()
    if (row && (row.runtime === null || row.runtime === event.runtime)) yield event
  }
}
