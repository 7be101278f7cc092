import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Db } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import type { Principal } from '../../http/env.ts'
import { ownedBy } from './list.ts'
import type { UpdateAgentRequest } from './schemas.ts'
import { type AgentRow, agents } from './tables.ts'

/**
 * Changes plan and provider; what the request leaves out stays.
 * @throws AppError `not_found` for a missing agent and for someone else's.
 */
export async function updateAgent(
  deps: { db: Db; clock: Clock },
  principal: Principal,
  id: string,
  request: UpdateAgentRequest,
): Promise<AgentRow> {
  const plan = request.plan ?? request.config?.plan
  const aiProvider = request.aiProvider ?? request.config?.aiProvider
  const updated = await write(deps.db, (tx) =>
    tx
      .update(agents)
      .set({ ...(plan && { plan }), ...(aiProvider && { aiProvider }), updatedAt: deps.clock.now() })
      .where(and(eq(agents.id, id), ownedBy(principal)))
      .returning()
      .get(),
  )
  if (!updated) throw new AppError('not_found', 'Agent not found')
  return updated
}
