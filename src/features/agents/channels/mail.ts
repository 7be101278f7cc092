import { and, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { getAgent } from '../registry/list.ts'
import type { Decider } from './decider.ts'
import type { MailChannel } from './schemas.ts'
import { type AgentChannelRow, agentChannels, type PlatformChannel } from './tables.ts'

/** Tells somebody who was let in that they may write now; the room of mail does it. */
export const WELCOME_JOB = 'inbox.welcome'

/** What mail of agents needs of the operator; `address` has `{agent}` where the id of the agent goes. */
export type AgentMail = { address: string | undefined; receives: boolean; sends: boolean }

export type MailChannelDeps = { db: Db; clock: Clock; agentMail: AgentMail }

/** Null while the operator has not said at which address agents get mail. */
export function toAgentAddress({ address }: AgentMail, agentId: string): string | null {
  return address?.replace('{agent}', agentId).toLowerCase() ?? null
}

/** Whether an agent answers mail, and what is missing for it. @throws AppError `not_found`. */
export function showMailChannel(db: Db | Tx, agentMail: AgentMail, agentId: string): MailChannel {
  return {
    isOn: findOpenChannel(db, agentId, 'mail') !== null,
    address: toAgentAddress(agentMail, agentId),
    missing: listMissing(agentMail),
  }
}

/**
 * Switches it on or off. People who were let in stay for the next time.
 * @throws AppError `not_found`, `unavailable` NOT_CONFIGURED with the settings that are missing.
 */
export async function switchMailChannel(
  { db, clock, agentMail }: MailChannelDeps,
  { principal, address }: Decider,
  agentId: string,
  { isOn }: { isOn: boolean },
): Promise<MailChannel> {
  return write(db, (tx) => {
    getAgent(tx, principal, agentId)
    if (isOn) requireMailConfigured(agentMail)
    const now = clock.now()
    setMailSince(tx, agentId, isOn ? (findOpenChannel(tx, agentId, 'mail')?.since ?? now) : null)
    const action = isOn ? 'agent.channel-on' : 'agent.channel-off'
    recordAudit(tx, { actor: principal.user.id, address, action, target: agentId, detail: { channel: 'mail' } }, now)
    return showMailChannel(tx, agentMail, agentId)
  })
}

function requireMailConfigured(agentMail: AgentMail): void {
  const missing = listMissing(agentMail)
  if (missing.length === 0) return
  throw new AppError('unavailable', `Mail of agents is not configured: set ${missing.join(', ')}`, {
    code: 'NOT_CONFIGURED',
  })
}

function setMailSince(tx: Tx, agentId: string, since: Date | null): void {
  tx.insert(agentChannels)
    .values({ agentId, name: 'mail', since })
    .onConflictDoUpdate({ target: [agentChannels.agentId, agentChannels.name], set: { since } })
    .run()
}

/** Null for one that is off. */
export function findOpenChannel(db: Db | Tx, agentId: string, name: PlatformChannel): AgentChannelRow | null {
  const isThis = and(eq(agentChannels.agentId, agentId), eq(agentChannels.name, name))
  const row = db.select().from(agentChannels).where(isThis).get()
  return row?.since ? row : null
}

/** What went wrong stays to be seen. */
export function noteChannelError(tx: Tx, clock: Clock, agentId: string, name: PlatformChannel, message: string): void {
  tx.update(agentChannels)
    .set({ lastError: message, lastErrorAt: clock.now() })
    .where(and(eq(agentChannels.agentId, agentId), eq(agentChannels.name, name)))
    .run()
}

function listMissing({ address, receives, sends }: AgentMail): string[] {
  return [
    ...(address === undefined ? ['AGENT_MAIL_ADDRESS'] : []),
    ...(receives ? [] : ['WEBHOOK_EMAIL_SECRET']),
    ...(sends ? [] : ['SMTP_URL']),
  ]
}
