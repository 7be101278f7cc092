import { eq } from 'drizzle-orm'
import { DEFAULT_BRANCH, type GitAuthor } from '../../../adapters/git/git.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import type { Principal } from '../../../http/env.ts'
import { users } from '../../accounts/users/tables.ts'
import { listGitCredentials } from './git-credentials.ts'
import type { Workspace } from './open-workspace.ts'

const DEFAULT_MESSAGE = 'sync changes'
const FIRST_MESSAGE = 'Start version history'
/** Whoever commits with the internal key to a workspace that nobody owns. */
const OPERATOR = { name: 'Stead', email: 'stead@localhost' }

export type SyncDeps = { db: Db; clock: Clock; sealer: Sealer; allowPrivate: boolean }
/** Interface 4.12, without `ok`. `message` tells what happened. */
export type Synced = { committed: boolean; pushed: boolean; hash: string; message: string }

/**
 * Stages all, commits, pushes. A commit that cannot be pushed stays and says why.
 * @throws AppError `internal` without a repository, or when staging or committing fails.
 */
export async function syncWorkspace(
  deps: SyncDeps,
  workspace: Workspace,
  principal: Principal,
  message = DEFAULT_MESSAGE,
): Promise<Synced> {
  const author = toAuthor(deps, workspace, principal)
  const hash = await workspace.use((files) => files.commit(message, author))
  if (hash === null) return { committed: false, pushed: false, hash: '', message: 'Nothing to commit' }
  const credentials = listGitCredentials(deps, workspace)
  const options = { allowPrivate: deps.allowPrivate, credentials }
  const failure = await workspace.use((files) => files.push(options))
  return {
    committed: true,
    pushed: failure === null,
    hash,
    message: failure === null ? 'Committed and pushed' : `Committed, not pushed: ${failure}`,
  }
}

/**
 * Creates a repository in the workspace and commits its files.
 * @throws AppError `conflict` when the workspace has a repository already, `internal` when creating or committing fails.
 */
export async function startVersionHistory(
  deps: Pick<SyncDeps, 'db' | 'clock'>,
  workspace: Workspace,
  principal: Principal,
): Promise<{ branch: string; hash: string }> {
  const author = toAuthor(deps, workspace, principal)
  const hash = await workspace.use((files) => files.init(FIRST_MESSAGE, author))
  return { branch: DEFAULT_BRANCH, hash: hash ?? '' }
}

/** The caller, or whoever owns the agent. */
function toAuthor(
  { db, clock }: Pick<SyncDeps, 'db' | 'clock'>,
  { agent }: Workspace,
  principal: Principal,
): GitAuthor {
  const { name, email } = principal.kind === 'user' ? principal.user : (findOwner(db, agent?.ownerId) ?? OPERATOR)
  return {
    name: toIdentText(name ?? '') || OPERATOR.name,
    email: toIdentText(email),
    timeSeconds: Math.floor(clock.now().getTime() / 1000),
  }
}

function findOwner(db: Db, ownerId: string | null | undefined) {
  return ownerId
    ? db.select({ name: users.name, email: users.email }).from(users).where(eq(users.id, ownerId)).get()
    : null
}

/** Without what ends a name or a line in a commit. */
function toIdentText(text: string): string {
  return text.replace(/[<>\p{Cc}]/gu, ' ').trim()
}
