import { eq } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { getAgent } from '../registry/list.ts'
import { agentLabels } from './tables.ts'

/** Gives an agent these labels and no others. @throws AppError `not_found` for someone else's agent. */
export async function setLabels(
  { db }: { db: Db },
  principal: Principal,
  id: string,
  labels: readonly string[],
): Promise<void> {
  await write(db, (tx) => {
    const agentId = getAgent(tx, principal, id).id
    tx.delete(agentLabels).where(eq(agentLabels.agentId, agentId)).run()
    if (labels.length > 0)
      tx.insert(agentLabels)
        .values(labels.map((label) => ({ agentId, label })))
        .run()
  })
}
