import { eq } from 'drizzle-orm'
import type { Clock } from '../../core/clock.ts'
import type { Sealer } from '../../core/secrets.ts'
import type { Tx } from '../../db/open.ts'
import type { Enqueue } from '../../jobs/queue.ts'
import { endEmailTokens } from '../accounts/email-tokens.ts'
import { endSessions } from '../accounts/sessions.ts'
import { users } from '../accounts/tables.ts'
import { removeTwoFactor } from '../accounts/two-factor.ts'
import { forgetCredentials } from '../agent-talk/credentials.ts'
import { changeSettings } from '../agents/config.ts'
import { type AgentRow, agents } from '../agents/tables.ts'
import { forgetGitCredentials } from '../browse/git-credentials.ts'
import { endRetiring, replaceTokens } from '../deployments/rotate-token.ts'
import { switchOffHeartbeat } from '../heartbeat/settings.ts'
import { forgetInstallations } from '../installations/delete.ts'
import { deleteAllKeys } from '../keys/delete.ts'
import { forgetOwnKeys } from '../own-keys/own-keys.ts'
import { abandonStreams } from '../radio/abandon.ts'
import { switchOffTasks } from '../scheduled-tasks/tasks.ts'
import { identities, wallets } from '../sign-in/tables.ts'
import { cancelAllRuns } from '../swarms/start-run.ts'

export type TakeOverDeps = { clock: Clock; sealer: Sealer; enqueue: Enqueue }

/** Settings of an agent that let somebody in, or let it speak for somebody. */
const NOBODYS = {
  apiKey: null,
  telegramToken: null,
  discordBotToken: null,
  whatsappToken: null,
  webhookUrl: null,
  telegramUserId: null,
  ownerIds: null,
}

/**
 * Takes an account away from whoever made it, in the closure that gives it to the one who proved its address. Every way in
 * ends: password, second factor, sessions, keys, mailed links, providers and wallets, and the tokens and channels of agents.
 * What acts by itself is switched off, and what was brought along to be used is forgotten. Agents stay, with what they
 * know.
 */
export function takeOver(tx: Tx, deps: TakeOverDeps, userId: string): void {
  const now = deps.clock.now()
  tx.update(users).set({ passwordHash: null, updatedAt: now }).where(eq(users.id, userId)).run()
  removeTwoFactor(tx, userId, now)
  endSessions(tx, userId)
  endEmailTokens(tx, userId)
  deleteAllKeys(tx, userId)
  tx.delete(identities).where(eq(identities.userId, userId)).run()
  tx.delete(wallets).where(eq(wallets.userId, userId)).run()
  switchOffTasks(tx, userId, now)
  switchOffHeartbeat(tx, userId, now)
  cancelAllRuns(tx, userId, now)
  forgetOwnKeys(tx, userId)
  forgetCredentials(tx, userId)
  forgetInstallations(tx, userId)
  abandonStreams(tx, deps.enqueue, userId)
  const owned = tx.select().from(agents).where(eq(agents.ownerId, userId)).all()
  for (const agent of owned) takeOverAgent(tx, deps, agent)
}

function takeOverAgent(tx: Tx, deps: TakeOverDeps, agent: AgentRow): void {
  forgetGitCredentials(tx, agent.id)
  const closed = changeSettings(deps, tx, agent, NOBODYS)
  replaceTokens(deps, tx, closed, { names: ['gateway', 'platform'], requestedBy: 'platform' })
  endRetiring(tx, agent.id)
}
