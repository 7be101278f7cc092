import { eq } from 'drizzle-orm'
import type { Tx } from '../../../db/open.ts'
import { deleteAllKeys } from '../../accounts/keys/keys.ts'
import { endEmailTokens } from '../../accounts/notifications/email-tokens.ts'
import { forgetChannels } from '../../accounts/notifications/owner-channels.ts'
import { endSessions } from '../../accounts/sessions/sessions.ts'
import { identities, wallets } from '../../accounts/sign-in/tables.ts'
import { removeTwoFactor } from '../../accounts/two-factor/two-factor.ts'
import { users } from '../../accounts/users/tables.ts'
import { endChannels } from '../../agents/channels/people.ts'
import { endRetiring, replaceTokens } from '../../agents/deployments/rotate-token.ts'
import { forgetInstallations } from '../../agents/installations/service.ts'
import { changeSettings } from '../../agents/registry/config.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import { forgetRevisions } from '../../agents/revisions/record.ts'
import { forgetOwnKeys } from '../../ai/own-keys/own-keys.ts'
import type { Base } from '../../base.ts'
import { forgetCredentials } from '../../conversations/agent-messages/agent-api.ts'
import { denyAllApprovals } from '../../conversations/approvals/decide.ts'
import { switchOffHeartbeat } from '../../conversations/heartbeat/heartbeat.ts'
import { enqueueRevocations } from '../../conversations/mcp-servers/revoke.ts'
import { forgetServers } from '../../conversations/mcp-servers/servers.ts'
import { switchOffTasks } from '../../conversations/scheduled-tasks/tasks.ts'
import { cancelAllRuns } from '../../conversations/swarms/start-run.ts'
import { forgetWebhookChannel } from '../../conversations/webhook-channel/settings.ts'
import { switchOffSkills } from '../../payments/skills/install.ts'
import { forgetSplitRules } from '../../payments/splits/create-split.ts'
import { freezeWallets } from '../../payments/wallets/policy.ts'
import { forgetGitCredentials } from '../../web-tools/browse/git.ts'
import { abandonStreams } from '../../web-tools/radio/streams.ts'

/** Agent settings that grant access to others or let the agent act for its owner, reset. */
const RESET_SETTINGS = {
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
 * Removes all access of an account's creator, in the transaction that gives the account to the user who verified its
 * address: password, second factor, sessions, keys, mailed links, providers and wallets, and the agents' tokens and
 * channels. Automations are switched off and stored credentials deleted. Agents and their memory stay.
 */
export function takeOver(tx: Tx, deps: Base, userId: string): void {
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

function takeOverAgent(tx: Tx, deps: Base, agent: AgentRow): void {
  forgetGitCredentials(tx, agent.id)
  enqueueRevocations(deps.enqueue, tx, agent.id)
  forgetServers(tx, agent.id)
  endChannels(tx, agent.id)
  forgetWebhookChannel(tx, agent.id)
  const closed = changeSettings(deps, tx, agent, RESET_SETTINGS)
  // The history holds the secrets that the other person may know.
  forgetRevisions(tx, agent.id)
  replaceTokens(deps, tx, closed, { names: ['gateway', 'platform'], requestedBy: 'platform' })
  endRetiring(tx, agent.id)
}
