import { and, eq } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { findEndpoint } from '../registry/address.ts'
import { getAgent } from '../registry/agents.ts'
import type { AgentRow } from '../registry/tables.ts'
import { decideWaiting, listLetIn, listWaiting, removeLetIn } from './people.ts'
import type { AgentChannel, ChannelList, MailChannel } from './schemas.ts'
import { type AgentChannelRow, agentChannels, PLATFORM_CHANNELS, type PlatformChannel } from './tables.ts'

export type ChannelDeps = {
  db: Db
  clock: Clock
  sealer: Sealer
  enqueue: Enqueue
  agentMail: AgentMail
  gateway: Pick<AgentGateway, 'channels' | 'decidePairing' | 'removePerson'>
}

/** How an agent can be spoken to besides its gateway, and by whom. @throws AppError `not_found`; what asking the agent throws. */
export async function listAgentChannels(deps: ChannelDeps, principal: UserPrincipal, id: string): Promise<ChannelList> {
  const agent = getAgent(deps.db, principal, id)
  const channels = listPlatformChannels(deps, id)
  if (agent.kind === 'openclaw') return { channels, untold: 'openclaw' }
  // Those that can be spoken to by a messenger do not sleep.
  if (agent.status === 'sleeping') return { channels, untold: null }
  const endpoint = findRunning(deps, agent)
  if (!endpoint) return { channels, untold: 'not_running' }
  return { channels: [...(await deps.gateway.channels(endpoint)), ...channels], untold: null }
}

/** Those of the platform's that are on. */
function listPlatformChannels(deps: ChannelDeps, agentId: string): AgentChannel[] {
  return PLATFORM_CHANNELS.flatMap((channel) => {
    const open = findOpenChannel(deps.db, agentId, channel)
    if (!open) return []
    const { since, lastError, lastErrorAt } = open
    return [
      {
        name: channel,
        connected: true,
        since: since?.toISOString() ?? null,
        account: toAgentAddress(deps.agentMail, agentId),
        lastError: lastError && lastErrorAt ? { message: lastError, at: lastErrorAt.toISOString() } : null,
        people: listLetIn(deps.db, { agentId, channel }),
        pairings: listWaiting(deps.db, deps, { agentId, channel }),
      },
    ]
  })
}

function isPlatformChannel(name: string): name is PlatformChannel {
  return (PLATFORM_CHANNELS as readonly string[]).includes(name)
}

/**
 * Lets a stranger who was told `code` write to the agent, or sends them away.
 * @throws AppError `not_found` for an agent, a channel or a code; `conflict` AGENT_NOT_RUNNING.
 */
export async function decideChannelPairing(
  deps: ChannelDeps,
  by: Decider,
  id: string,
  decision: { channel: string; code: string; approve: boolean },
): Promise<void> {
  const { channel, approve } = decision
  if (isPlatformChannel(channel)) return decideHere(deps, by, id, { ...decision, channel })
  const endpoint = requireRunning(deps, getAgent(deps.db, by.principal, id))
  const found = (await deps.gateway.channels(endpoint)).find(({ name }) => name === channel)
  const pairing = found?.pairings.find(({ code }) => code === decision.code.toUpperCase())
  if (!pairing) throw new AppError('not_found', 'Pairing code not found')
  const detail = { channel, personId: pairing.id, name: pairing.name }
  await audit(deps, by, { action: approve ? 'agent.channel-approve' : 'agent.channel-deny', target: id, detail })
  await deps.gateway.decidePairing(endpoint, { ...decision, code: pairing.code })
}

async function decideHere(
  deps: ChannelDeps,
  { principal, address }: Decider,
  agentId: string,
  { channel, ...decision }: { channel: PlatformChannel; code: string; approve: boolean },
): Promise<void> {
  await write(deps.db, (tx) => {
    getAgent(tx, principal, agentId)
    const { personId, name } = decideWaiting(tx, deps, { agentId, channel }, decision)
    if (decision.approve)
      deps.enqueue(tx, WELCOME_JOB, { agentId, personId }, { key: `${WELCOME_JOB}:${agentId}:${personId}` })
    const action = decision.approve ? 'agent.channel-approve' : 'agent.channel-deny'
    const entry = { actor: principal.user.id, address, action, target: agentId, detail: { channel, personId, name } }
    recordAudit(tx, entry, deps.clock.now())
  })
}

/**
 * Takes from somebody the right to write to the agent.
 * @throws AppError `not_found`, `conflict` AGENT_NOT_RUNNING and for somebody whom the agent's settings name.
 */
export async function removeChannelPerson(
  deps: ChannelDeps,
  by: Decider,
  id: string,
  person: { channel: string; personId: string },
): Promise<void> {
  const { channel, personId } = person
  if (isPlatformChannel(channel)) {
    getAgent(deps.db, by.principal, id)
    await write(deps.db, (tx) => removeLetIn(tx, { agentId: id, channel }, personId))
    return audit(deps, by, { action: 'agent.channel-remove', target: id, detail: person })
  }
  const endpoint = requireRunning(deps, getAgent(deps.db, by.principal, id))
  await deps.gateway.removePerson(endpoint, person)
  await audit(deps, by, { action: 'agent.channel-remove', target: id, detail: person })
}

type Entry = { action: string; target: string; detail: Record<string, unknown> }

async function audit({ db, clock }: ChannelDeps, { principal, address }: Decider, entry: Entry): Promise<void> {
  await write(db, (tx) => recordAudit(tx, { actor: principal.user.id, address, ...entry }, clock.now()))
}

function findRunning({ sealer }: ChannelDeps, agent: AgentRow) {
  return agent.status === 'running' ? findEndpoint(sealer, agent) : null
}

function requireRunning(deps: ChannelDeps, agent: AgentRow) {
  const endpoint = agent.kind === 'stead' ? findRunning(deps, agent) : null
  if (!endpoint) throw new AppError('conflict', 'Agent is not running', { code: 'AGENT_NOT_RUNNING' })
  return endpoint
}

type UserPrincipal = Extract<Principal, { kind: 'user' }>

/** Who decides, and from where. */
type Decider = { principal: UserPrincipal; address: string | null }

/** Tells somebody who was let in that they may write now; the room of mail does it. */
export const WELCOME_JOB = 'inbox.welcome'

/** What mail of agents needs of the operator; `address` has `{agent}` where the id of the agent goes. */
export type AgentMail = { address: string | undefined; receives: boolean; sends: boolean }

type MailChannelDeps = { db: Db; clock: Clock; agentMail: AgentMail }

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
