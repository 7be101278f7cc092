import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Runtimes } from '../../adapters/runtimes.ts'
import type { FolderRoot } from '../../adapters/workspace-files-open.ts'
import { AppError } from '../../core/errors.ts'
import type { Db } from '../../db/open.ts'
import type { Principal } from '../../http/env.ts'
import { getAgent } from '../agents/list.ts'
import type { AgentRow } from '../agents/tables.ts'

export type WorkspaceDeps = { db: Db; runtimes: Pick<Runtimes, 'of'>; browseRoot: string; agentsFolder: string }

/** A working tree that somebody may see; `agent` is null for the one that belongs to no agent. */
export type Workspace = { root: FolderRoot; agent: AgentRow | null }

/**
 * The workspace of an agent, or the common one, which is the operator's and the admins'.
 * @throws AppError `not_found` for a missing agent and someone else's, `forbidden` ADMIN_REQUIRED, `unavailable`
 * NOT_CONFIGURED for agents whose files this process cannot reach.
 */
export function openWorkspace(deps: WorkspaceDeps, principal: Principal, agentId: string | undefined): Workspace {
  if (agentId === undefined) {
    if (principal.kind === 'user' && !principal.user.isAdmin) {
      throw new AppError('forbidden', 'Admin access required.', { code: 'ADMIN_REQUIRED' })
    }
    mkdirSync(deps.browseRoot, { recursive: true, mode: 0o700 })
    return { root: { base: deps.browseRoot, below: [] }, agent: null }
  }
  const agent = getAgent(deps.db, principal, agentId)
  if (deps.runtimes.of(agent).name !== 'process') {
    throw new AppError('unavailable', 'Files of agents in containers cannot be reached', {
      code: 'NOT_CONFIGURED',
    })
  }
  // What lies below the agent's own folder is the agent's to replace by links.
  return { root: { base: join(deps.agentsFolder, agent.id), below: ['state', 'workspace'] }, agent }
}
