import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { ownedBy } from '../registry/list.ts'
import type { UpdateAgentRequest } from '../registry/schemas.ts'
import { type AgentRow, agents } from '../registry/tables.ts'
import { applySettings, type ConfigDeps } from './config-change.ts'

/** Changes plan, provider and settings, as `applySettings`. Fields beside `config` override those in it. */
export async function updateAgent(
  deps: ConfigDeps,
  principal: Principal,
  id: string,
  { plan, aiProvider, config }: UpdateAgentRequest,
): Promise<AgentRow> {
  return applySettings(deps, principal, id, { ...config, ...(plan && { plan }), ...(aiProvider && { aiProvider }) })
}

/** Gives an agent another name. @throws AppError `not_found` for a missing agent and for someone else's. */
export async function renameAgent(
  deps: { db: Db; clock: Clock },
  principal: Principal,
  id: string,
  name: string,
): Promise<AgentRow> {
  return changeOwnRow(deps, principal, id, { name })
}

async function changeOwnRow(
  deps: { db: Db; clock: Clock },
  principal: Principal,
  id: string,
  columns: Partial<AgentRow>,
): Promise<AgentRow> {
  const change = { ...columns, updatedAt: deps.clock.now() }
  const isOwn = and(eq(agents.id, id), ownedBy(principal))
  const changed = await write(deps.db, (tx) => tx.update(agents).set(change).where(isOwn).returning().get())
  if (!changed) throw new AppError('not_found', 'Agent not found')
  return changed
}
