import { and, eq } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { Principal } from '../../http/env.ts'
import type { Enqueue } from '../../jobs/queue.ts'
import { ownedBy } from './list.ts'
import { agents } from './tables.ts'

/** Ends and removes what runs for a deleted agent; `deployments/jobs.ts` does it. */
export const REMOVE_JOB = 'agents.remove'

/** The key of an agent's removal, which only an unfinished one has. */
export function removeKey(agentId: string): string {
  return `remove:${agentId}`
}

/** Deletes the row, and with it the port's lease; what runs is removed by a job. Foreign and missing ids do nothing. */
export async function deleteAgent(deps: { db: Db; enqueue: Enqueue }, principal: Principal, id: string): Promise<void> {
  await write(deps.db, (tx) => {
    const { changes } = tx
      .delete(agents)
      .where(and(eq(agents.id, id), ownedBy(principal)))
      .run()
    if (changes > 0) deps.enqueue(tx, REMOVE_JOB, { agentId: id }, { key: removeKey(id) })
  })
}
