import type { Context, MiddlewareHandler } from 'hono'
import type { Clock } from '../../../core/clock.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { BackendEnv } from '../../../http/env.ts'
import { type WorkspaceQuotaDeps, withinWorkspaceQuota } from '../../agents/storage/quota.ts'
import type { OneAtATime } from './one-at-a-time.ts'
import { openWorkspace, type Workspace, type WorkspaceDeps } from './open-workspace.ts'

export type BrowseDeps = WorkspaceDeps & {
  clock: Clock
  sealer: Sealer
  allowPrivate: boolean
  storage: WorkspaceQuotaDeps['storage']
  plannedEndpoints: boolean
  oneAtATime: OneAtATime
}
export type BrowseGuard = MiddlewareHandler<BackendEnv>

/** What an entry of a folder takes at least. What a commit adds is not known before: it is measured after. */
export const ENTRY_BYTES = 4096

/** What files of a workspace may be refused for. */
export const READING = ['not_found', 'forbidden', 'too_large', 'unavailable'] as const

/** What every route does with the workspace that it is asked for. */
export function createDesk(deps: BrowseDeps) {
  return {
    /** A change that adds up to so many bytes, in its turn. */
    change: <T>(workspace: Workspace, addedBytes: number, task: () => Promise<T>) =>
      deps.oneAtATime(workspace, () => withinWorkspaceQuota(deps, workspace, addedBytes, task)),
    workspaceOf: (c: Context<BackendEnv>, agentId: string | undefined) => openWorkspace(deps, c.var.principal, agentId),
  }
}
