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
import { createLanes } from '../../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db } from '../../../db/open.ts'
import type { BackendEnv, Principal } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import { withinWorkspaceQuota } from '../../agents/storage/quota.ts'
import type { Base } from '../../base.ts'

export type BrowseDeps = WorkspaceDeps &
  Base & {
    allowPrivate: boolean
    storage: Pick<StorageQuota, 'within'>
    plannedEndpoints: boolean
    oneAtATime: OneAtATime
  }
export type BrowseGuard = MiddlewareHandler<BackendEnv>

/** Smallest disk usage of a folder entry. The size of a commit is unknown beforehand and is measured afterwards. */
export const ENTRY_BYTES = 4096

/** Error kinds of routes that read files. */
export const READING = ['not_found', 'forbidden', 'too_large', 'unavailable'] as const

/** Creates the helpers with which every route opens and changes the requested workspace. */
export function createDesk(deps: BrowseDeps) {
  return {
    /** Runs a change that adds at most `addedBytes`, after earlier changes of the same workspace. */
    change: <T>(workspace: Workspace, addedBytes: number, task: () => Promise<T>) =>
      deps.oneAtATime(workspace, () => withinWorkspaceQuota(deps, workspace, addedBytes, task)),
    workspaceOf: (c: Context<BackendEnv>, agentId: string | undefined) => openWorkspace(deps, c.var.principal, agentId),
  }
}

/** Serializes changes of one workspace so no other request changes it between a check and the write. */
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
 * A working tree that the caller may access; `agent` is null for the one that belongs to no agent. `use` runs an action
 * on its files, local or remote.
 * @throws AppError from `use`: errors of the action, `unavailable` when the files cannot be reached.
 */
export type Workspace = {
  agent: AgentRow | null
  use<T>(work: (files: WorkspaceFiles) => Promise<T>): Promise<T>
}

/**
 * Opens an agent's workspace, or the shared one for the operator and administrators.
 * @throws AppError `not_found` for a missing agent or another user's, `forbidden` ADMIN_REQUIRED, `unavailable`
 * NOT_CONFIGURED when the agent's runtime has no file access.
 */
export function openWorkspace(deps: WorkspaceDeps, principal: Principal, agentId: string | undefined): Workspace {
  if (agentId === undefined) return openCommonWorkspace(deps, principal)
  const agent = getAgent(deps.db, principal, agentId)
  const runtime = deps.runtimes.runtimeOf(agent)
  if (runtime.name === 'process') {
    // The agent controls everything below its own folder and could replace it with symbolic links.
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
