import type { Clock } from '../../../core/clock.ts'
import { AGENT_TOKEN_PREFIX, newSlug, randomText } from '../../../core/ids.ts'
import { type Sealer, type SealPurpose, sha256 } from '../../../core/secrets.ts'
import type { Tx } from '../../../db/open.ts'
import { type AgentRow, agents } from './tables.ts'

/** 43 of 62 characters: 256 bits. */
const TOKEN_LENGTH = 43

export type NewAgent = Pick<AgentRow, 'ownerId' | 'name' | 'model' | 'plan' | 'aiProvider' | 'status'> & { id?: string }
export type CreateDeps = { clock: Clock; sealer: Sealer }

/** Adds the row of an agent with tokens of its own, sealed for its row alone. */
export function insertAgent(deps: CreateDeps, tx: Tx, agent: NewAgent): AgentRow {
  const id = agent.id ?? newSlug(agent.name)
  const now = deps.clock.now()
  return tx
    .insert(agents)
    .values({
      ...agent,
      id,
      ...newGatewayToken(deps.sealer, id),
      ...newAccessToken(deps.sealer, id),
      createdAt: now,
      updatedAt: now,
    })
    .returning()
    .get()
}

/** The two tokens of an agent, opened. `gatewayToken` is asked for by the agent, `accessToken` by us. */
export function openTokens(sealer: Sealer, agent: AgentRow): { gatewayToken: string; accessToken: string } {
  return {
    gatewayToken: sealer.unseal(agent.gatewayToken, purposeOf('gatewayToken', agent.id)),
    accessToken: sealer.unseal(agent.accessToken, purposeOf('accessToken', agent.id)),
  }
}

/** A new token that opens the agent, as its row keeps it. */
export function newGatewayToken(sealer: Sealer, id: string): Pick<AgentRow, 'gatewayToken'> {
  return { gatewayToken: sealer.seal(`gw_${randomText(TOKEN_LENGTH)}`, purposeOf('gatewayToken', id)) }
}

/** A new token that the agent shows to us, as its row keeps it. */
export function newAccessToken(sealer: Sealer, id: string): Pick<AgentRow, 'accessToken' | 'accessTokenHash'> {
  const token = `${AGENT_TOKEN_PREFIX}${randomText(TOKEN_LENGTH)}`
  return { accessToken: sealer.seal(token, purposeOf('accessToken', id)), accessTokenHash: sha256(token) }
}

function purposeOf(column: 'gatewayToken' | 'accessToken', id: string): SealPurpose {
  return `agents:${column}:${id}`
}
