import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { recordAudit } from '../../people/audit/audit.ts'
import { findEndpoint } from '../registry/endpoint.ts'
import { getAgent } from '../registry/list.ts'
import type { AgentRow } from '../registry/tables.ts'
import type { ChannelList } from './schemas.ts'

export type ChannelDeps = {
  db: Db
  clock: Clock
  sealer: Sealer
  gateway: Pick<AgentGateway, 'channels' | 'decidePairing' | 'removePerson'>
}

type UserPrincipal = Extract<Principal, { kind: 'user' }>

/** Who decides, and from where. */
type Decider = { principal: UserPrincipal; address: string | null }

/** By which messengers an agent can be spoken to, and by whom. @throws AppError `not_found`; what asking the agent throws. */
export async function listAgentChannels(deps: ChannelDeps, principal: UserPrincipal, id: string): Promise<ChannelList> {
  const agent = getAgent(deps.db, principal, id)
  if (agent.kind === 'openclaw') return { channels: [], untold: 'openclaw' }
  // Those that can be spoken to by a messenger do not sleep.
  if (agent.status === 'sleeping') return { channels: [], untold: null }
  const endpoint = findRunning(deps, agent)
  if (!endpoint) return { channels: [], untold: 'not_running' }
  return { channels: await deps.gateway.channels(endpoint), untold: null }
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
  const endpoint = requireRunning(deps, getAgent(deps.db, by.principal, id))
  const found = (await deps.gateway.channels(endpoint)).find(({ name }) => name === channel)
  const pairing = found?.pairings.find(({ code }) => code === decision.code.toUpperCase())
  if (!pairing) throw new AppError('not_found', 'Pairing code not found')
  const detail = { channel, personId: pairing.id, name: pairing.name }
  await audit(deps, by, { action: approve ? 'agent.channel-approve' : 'agent.channel-deny', target: id, detail })
  await deps.gateway.decidePairing(endpoint, { ...decision, code: pairing.code })
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
