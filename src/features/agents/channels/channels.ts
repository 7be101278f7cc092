import { and, eq } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import type { Base } from '../../base.ts'
import { findEndpoint } from '../registry/address.ts'
import { getAgent } from '../registry/agents.ts'
import type { AgentRow } from '../registry/tables.ts'
import { decidePairing, listAllowedPeople, listPairings, removeAllowedPerson } from './people.ts'
import type { AgentChannel, ChannelList, MailChannel } from './schemas.ts'
import { type AgentChannelRow, agentChannels, PLATFORM_CHANNELS, type PlatformChannel } from './tables.ts'

export type AgentChannelDeps = Base & {
  agentMail: AgentMail
  gateway: Pick<AgentGateway, 'channels' | 'decidePairing' | 'removePerson'>
}

/** Lists the channels of an agent and the people on them. @throws AppError `not_found`, and as the agent's gateway. */
export async function listAgentChannels(
  deps: AgentChannelDeps,
  principal: UserPrincipal,
  id: string,
): Promise<ChannelList> {
  const agent = getAgent(deps.db, principal, id)
  const channels = listPlatformChannels(deps, id)
  if (agent.kind === 'openclaw') return { channels, untold: 'openclaw' }
  // Agents with a messenger never sleep, so a sleeping one has none.
  if (agent.status === 'sleeping') return { channels, untold: null }
  const endpoint = findRunning(deps, agent)
  if (!endpoint) return { channels, untold: 'not_running' }
  return { channels: [...(await deps.gateway.channels(endpoint)), ...channels], untold: null }
}

/** Lists the enabled channels that the platform serves. */
function listPlatformChannels(deps: AgentChannelDeps, agentId: string): AgentChannel[] {
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
        people: listAllowedPeople(deps.db, { agentId, channel }),
        pairings: listPairings(deps.db, deps, { agentId, channel }),
      },
    ]
  })
}

function isPlatformChannel(name: string): name is PlatformChannel {
  return (PLATFORM_CHANNELS as readonly string[]).includes(name)
}

/**
 * Approves or denies the person who received `code`.
 * @throws AppError `not_found` for an agent, a channel or a code; `conflict` AGENT_NOT_RUNNING.
 */
export async function decideChannelPairing(
  deps: AgentChannelDeps,
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
  deps: AgentChannelDeps,
  { principal, address }: Decider,
  agentId: string,
  { channel, ...decision }: { channel: PlatformChannel; code: string; approve: boolean },
): Promise<void> {
  await write(deps.db, (tx) => {
    getAgent(tx, principal, agentId)
    const { personId, name } = decidePairing(tx, deps, { agentId, channel }, decision)
    if (decision.approve)
      deps.enqueue(tx, WELCOME_JOB, { agentId, personId }, { key: `${WELCOME_JOB}:${agentId}:${personId}` })
    const action = decision.approve ? 'agent.channel-approve' : 'agent.channel-deny'
    const entry = { actor: principal.user.id, address, action, target: agentId, detail: { channel, personId, name } }
    recordAudit(tx, entry, deps.clock.now())
  })
}

/**
 * Revokes a person's access to the agent.
 * @throws AppError `not_found`, `conflict` AGENT_NOT_RUNNING or when the agent's settings name the person.
 */
export async function removeChannelPerson(
  deps: AgentChannelDeps,
  by: Decider,
  id: string,
  person: { channel: string; personId: string },
): Promise<void> {
  const { channel, personId } = person
  if (isPlatformChannel(channel)) {
    getAgent(deps.db, by.principal, id)
    await write(deps.db, (tx) => removeAllowedPerson(tx, { agentId: id, channel }, personId))
    return audit(deps, by, { action: 'agent.channel-remove', target: id, detail: person })
  }
  const endpoint = requireRunning(deps, getAgent(deps.db, by.principal, id))
  await deps.gateway.removePerson(endpoint, person)
  await audit(deps, by, { action: 'agent.channel-remove', target: id, detail: person })
}

type Entry = { action: string; target: string; detail: Record<string, unknown> }

async function audit({ db, clock }: AgentChannelDeps, { principal, address }: Decider, entry: Entry): Promise<void> {
  await write(db, (tx) => recordAudit(tx, { actor: principal.user.id, address, ...entry }, clock.now()))
}

function findRunning({ sealer }: AgentChannelDeps, agent: AgentRow) {
  return agent.status === 'running' ? findEndpoint(sealer, agent) : null
}

function requireRunning(deps: AgentChannelDeps, agent: AgentRow) {
  const endpoint = agent.kind === 'stead' ? findRunning(deps, agent) : null
  if (!endpoint) throw new AppError('conflict', 'Agent is not running', { code: 'AGENT_NOT_RUNNING' })
  return endpoint
}

type UserPrincipal = Extract<Principal, { kind: 'user' }>

/** The user who decides, and their network address for the audit log. */
type Decider = { principal: UserPrincipal; address: string | null }

/** The job that notifies an approved person. The inbox feature runs it. */
export const WELCOME_JOB = 'inbox.welcome'

/** Mail settings of the operator; `{agent}` in `address` is replaced by the agent's id. */
export type AgentMail = { address: string | undefined; receives: boolean; sends: boolean }

/** Returns the agent's mail address; null when the operator has configured none. */
export function toAgentAddress({ address }: AgentMail, agentId: string): string | null {
  return address?.replace('{agent}', agentId).toLowerCase() ?? null
}

/** Returns the mail channel of an agent and the settings it lacks. */
export function showMailChannel(db: Db | Tx, agentMail: AgentMail, agentId: string): MailChannel {
  return {
    isOn: findOpenChannel(db, agentId, 'mail') !== null,
    address: toAgentAddress(agentMail, agentId),
    missing: listMissing(agentMail),
  }
}

/**
 * Switches the mail channel on or off. Approved people stay approved.
 * @throws AppError `not_found`, `unavailable` NOT_CONFIGURED naming the missing settings.
 */
export async function switchMailChannel(
  { db, clock, agentMail }: Base & { agentMail: AgentMail },
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

/** Returns the channel; null when it is off. */
export function findOpenChannel(db: Db | Tx, agentId: string, name: PlatformChannel): AgentChannelRow | null {
  const isThis = and(eq(agentChannels.agentId, agentId), eq(agentChannels.name, name))
  const row = db.select().from(agentChannels).where(isThis).get()
  return row?.since ? row : null
}

/** Records a channel's last error, which stays visible until the next one. */
export function recordChannelError(
  tx: Tx,
  clock: Clock,
  agentId: string,
  name: PlatformChannel,
  message: string,
): void {
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
