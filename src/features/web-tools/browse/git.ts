import { and, eq } from 'drizzle-orm'
import type { GitAuthor } from '../../../adapters/git/git.ts'
import { DEFAULT_BRANCH } from '../../../adapters/git/messages.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { SealPurpose } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import type { CredentialsRequest } from './schemas.ts'
import { gitCredentials } from './tables.ts'
import type { Workspace } from './workspace.ts'

/** Stores a password for the remotes of one origin; it is never returned. */
export async function setGitCredentials(
  deps: Base,
  { agent }: Workspace,
  { origin, username, password }: CredentialsRequest,
): Promise<void> {
  const workspace = agent?.id ?? ''
  const row = {
    workspace,
    origin,
    agentId: agent?.id ?? null,
    username,
    sealedPassword: deps.sealer.seal(password, purposeOf(workspace, origin)),
    updatedAt: deps.clock.now(),
  }
  const target = [gitCredentials.workspace, gitCredentials.origin]
  await write(deps.db, (tx) => tx.insert(gitCredentials).values(row).onConflictDoUpdate({ target, set: row }).run())
}

/** Deletes the credentials of an origin. @throws AppError `not_found` when there are none. */
export async function deleteGitCredentials(db: Db, workspace: Workspace, origin: string): Promise<void> {
  const gone = await write(db, (tx) => tx.delete(gitCredentials).where(isFor(workspace, origin)).returning().all())
  if (gone.length === 0) throw new AppError('not_found', 'No credentials for this origin')
}

/** Returns a workspace's credentials, decrypted for the next push. */
function listGitCredentials(deps: Base, { agent }: Workspace) {
  const isOfWorkspace = eq(gitCredentials.workspace, agent?.id ?? '')
  const rows = deps.db.select().from(gitCredentials).where(isOfWorkspace).all()
  return rows.map(({ workspace, origin, username, sealedPassword }) => ({
    origin,
    username,
    password: deps.sealer.unseal(sealedPassword, purposeOf(workspace, origin)),
  }))
}

function isFor({ agent }: Workspace, origin: string) {
  return and(eq(gitCredentials.workspace, agent?.id ?? ''), eq(gitCredentials.origin, origin))
}

function purposeOf(workspace: string, origin: string): SealPurpose {
  return `git_credentials:${workspace}:${origin}`
}

/** Deletes an agent's Git credentials in the caller's transaction. */
export function forgetGitCredentials(tx: Tx, agentId: string): void {
  tx.delete(gitCredentials).where(eq(gitCredentials.agentId, agentId)).run()
}

const DEFAULT_MESSAGE = 'sync changes'
const FIRST_MESSAGE = 'Start version history'
/** Commit author when the internal key commits to a workspace without an owner. */
const OPERATOR = { name: 'Stead', email: 'stead@localhost' }
/** Result of `git-sync`, without `ok`; `message` describes the outcome. */
type Synced = { committed: boolean; pushed: boolean; hash: string; message: string }

/**
 * Stages everything, commits and pushes. A commit that cannot be pushed is kept, and `message` gives the reason.
 * @throws AppError `internal` without a repository, or when staging or committing fails.
 */
export async function syncWorkspace(
  deps: Base & { allowPrivate: boolean },
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
 * @throws AppError `conflict` when the workspace already has a repository, `internal` when creating or committing
 * fails.
 */
export async function startVersionHistory(
  deps: { db: Db; clock: Clock },
  workspace: Workspace,
  principal: Principal,
): Promise<{ branch: string; hash: string }> {
  const author = toAuthor(deps, workspace, principal)
  const hash = await workspace.use((files) => files.init(FIRST_MESSAGE, author))
  return { branch: DEFAULT_BRANCH, hash: hash ?? '' }
}

/** Returns the caller as commit author, or the agent's owner for a service. */
function toAuthor({ db, clock }: { db: Db; clock: Clock }, { agent }: Workspace, principal: Principal): GitAuthor {
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

/** Removes characters that end a name or a line in a commit. */
function toIdentText(text: string): string {
  return text.replace(/[<>\p{Cc}]/gu, ' ').trim()
}

const UNITS = [
  ['year', 365 * 86_400],
  ['month', 30 * 86_400],
  ['week', 7 * 86_400],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

const formatter = new Intl.RelativeTimeFormat('en', { numeric: 'always' })

/** Formats an age such as `3 days ago`, in the largest unit that has at least one. */
export function toRelativeTime(time: Date, now: Date): string {
  const seconds = Math.round((time.getTime() - now.getTime()) / 1000)
  const [unit, size] = UNITS.find(([, unitSeconds]) => Math.abs(seconds) >= unitSeconds) ?? (['second', 1] as const)
  return formatter.format(Math.trunc(seconds / size), unit)
}
