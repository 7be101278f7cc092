import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Tx } from '../../../db/open.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { endChannels } from '../../agents/channels/people.ts'
import { endRetiring, replaceTokens } from '../../agents/deployments/rotate-token.ts'
import { forgetInstallations } from '../../agents/installations/delete.ts'
import { changeSettings } from '../../agents/registry/config.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { forgetOwnKeys } from '../../models/own-keys/own-keys.ts'
import { switchOffSkills } from '../../money/skills/install.ts'
import { forgetSplitRules } from '../../money/splits/create-split.ts'
import { freezeWallets } from '../../money/wallets/change-policy.ts'
import { deleteAllKeys } from '../../people/keys/delete.ts'
import { endEmailTokens } from '../../people/mails/email-tokens.ts'
import { forgetChannels } from '../../people/notices/channels.ts'
import { endSessions } from '../../people/sessions/sessions.ts'
import { identities, wallets } from '../../people/sign-in/tables.ts'
import { removeTwoFactor } from '../../people/two-factor/two-factor.ts'
import { users } from '../../people/users/tables.ts'
import { forgetCredentials } from '../../talk/agent-talk/credentials.ts'
import { denyAllApprovals } from '../../talk/approvals/decide.ts'
import { switchOffHeartbeat } from '../../talk/heartbeat/settings.ts'
import { forgetServers } from '../../talk/mcp-servers/servers.ts'
import { switchOffTasks } from '../../talk/scheduled-tasks/tasks.ts'
import { cancelAllRuns } from '../../talk/swarms/start-run.ts'
import { forgetWebhookChannel } from '../../talk/webhook-channel/settings.ts'
import { forgetGitCredentials } from '../../web-tools/browse/git-credentials.ts'
import { abandonStreams } from '../../web-tools/radio/abandon.ts'

export type TakeOverDeps = { clock: Clock; sealer: Sealer; enqueue: Enqueue }

/** Settings of an agent that let somebody in, or let it speak for somebody. */
const NOBODYS = {
  apiKey: null,
  telegramToken: null,
  discordBotToken: null,
  whatsappToken: null,
  slackBotToken: null,
  slackAppToken: null,
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
  denyAllApprovals(tx, userId, now)
  cancelAllRuns(tx, userId, now)
  forgetChannels(tx, userId)
  forgetOwnKeys(tx, userId)
  freezeWallets(tx, deps, userId)
  forgetSplitRules(tx, userId)
  switchOffSkills(tx, userId)
  forgetCredentials(tx, userId)
  forgetInstallations(tx, userId)
  abandonStreams(tx, deps.enqueue, userId)
  const owned = tx.select().from(agents).where(eq(agents.ownerId, userId)).all()
  for (const agent of owned) takeOverAgent(tx, deps, agent)
}

function takeOverAgent(tx: Tx, deps: TakeOverDeps, agent: AgentRow): void {
  forgetGitCredentials(tx, agent.id)
  forgetServers(tx, agent.id)
  endChannels(tx, agent.id)
  forgetWebhookChannel(tx, agent.id)
  const closed = changeSettings(deps, tx, agent, NOBODYS)
  replaceTokens(deps, tx, closed, { names: ['gateway', 'platform'], requestedBy: 'platform' })
  endRetiring(tx, agent.id)
}
