import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Context, MiddlewareHandler } from 'hono'
import type { FolderRoot } from '../../../adapters/files/open.ts'
import type { GitRunner } from '../../../adapters/git/runner.ts'
import { WORKSPACE_FOLDER } from '../../../adapters/runtimes/contract/agent-image.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../../../adapters/runtimes/contract/runtimes.ts'
import type { WorkspaceLinks } from '../../../adapters/workspaces/links.ts'
import { openFolderFiles, type WorkspaceFiles } from '../../../adapters/workspaces/workspace.ts'
import type { Clock } from '../../../core/clock.ts'
import { createLanes } from '../../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import type { BackendEnv, Principal } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { type WorkspaceQuotaDeps, withinWorkspaceQuota } from '../../agents/storage/quota.ts'

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

/** Changes of one workspace happen one after another, so that nothing of ours comes between a check and what depends on it. */
export type OneAtATime = <T>(workspace: Workspace, task: () => Promise<T>) => Promise<T>

export function createOneAtATime(): OneAtATime {
  const runInLane = createLanes()
  return ({ agent }, task) => runInLane(agent?.id ?? '', task)
}

export type WorkspaceDeps = {
  db: Db
  runtimes: Pick<Runtimes, 'runtimeOf'>
  git: GitRunner
  workspaceLinks: Pick<WorkspaceLinks, 'use'>
  browseRoot: string
  agentsFolder: string
}

/**
 * A working tree that somebody may see; `agent` is null for the one that belongs to no agent. `use` does something with its
 * files, wherever they lie. @throws AppError from `use`: of what is done, `unavailable` for files that cannot be reached.
 */
export type Workspace = {
  agent: AgentRow | null
  use<T>(work: (files: WorkspaceFiles) => Promise<T>): Promise<T>
}

/**
 * The workspace of an agent, or the common one, which is the operator's and the admins'.
 * @throws AppError `not_found` for a missing agent and someone else's, `forbidden` ADMIN_REQUIRED, `unavailable`
 * NOT_CONFIGURED for agents in a runtime that knows no files.
 */
export function openWorkspace(deps: WorkspaceDeps, principal: Principal, agentId: string | undefined): Workspace {
  if (agentId === undefined) return openCommonWorkspace(deps, principal)
  const agent = getAgent(deps.db, principal, agentId)
  const runtime = deps.runtimes.runtimeOf(agent)
  if (runtime.name === 'process') {
    // What lies below the agent's own folder is the agent's to replace by links.
    const root = { base: join(deps.agentsFolder, agent.id), below: ['state', WORKSPACE_FOLDER] }
    return { agent, use: inFolder(deps, root) }
  }
  return { agent, use: inContainer(deps, agent, runtime) }
}

function openCommonWorkspace(deps: WorkspaceDeps, principal: Principal): Workspace {
  if (principal.kind === 'user' && !principal.user.isAdmin) {
    throw new AppError('forbidden', 'Admin access required.', { code: 'ADMIN_REQUIRED' })
  }
  mkdirSync(deps.browseRoot, { recursive: true, mode: 0o700 })
  return { agent: null, use: inFolder(deps, { base: deps.browseRoot, below: [] }) }
}

function inContainer(deps: WorkspaceDeps, { id }: AgentRow, { openFiles }: Runtime): Workspace['use'] {
  if (!openFiles) {
    throw new AppError('unavailable', 'Files of agents in containers cannot be reached', { code: 'NOT_CONFIGURED' })
  }
  return async (work) => {
    const found = await openFiles(id)
    if ('root' in found) return inFolder(deps, found.root)(work)
    return deps.workspaceLinks.use(id, found.connect, work)
  }
}

function inFolder({ git }: Pick<WorkspaceDeps, 'git'>, root: FolderRoot): Workspace['use'] {
  return (work) => work(openFolderFiles(root, git))
}
