import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Workspace } from './open-workspace.ts'
import type { CredentialsRequest } from './schemas.ts'
import { gitCredentials } from './tables.ts'

/** Keeps a password for the remotes of one origin; it is never shown again. */
export async function setGitCredentials(
  deps: { db: Db; clock: Clock; sealer: Sealer },
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

/** @throws AppError `not_found` when there are none for this origin. */
export async function deleteGitCredentials(db: Db, workspace: Workspace, origin: string): Promise<void> {
  const gone = await write(db, (tx) => tx.delete(gitCredentials).where(isFor(workspace, origin)).returning().all())
  if (gone.length === 0) throw new AppError('not_found', 'No credentials for this origin')
}

/** All of a workspace, in the open: for the push that follows. */
export function listGitCredentials(deps: { db: Db; sealer: Sealer }, { agent }: Workspace) {
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

/** Forgets with what an agent's workspace pushes, in the caller's closure. */
export function forgetGitCredentials(tx: Tx, agentId: string): void {
  tx.delete(gitCredentials).where(eq(gitCredentials.agentId, agentId)).run()
}
