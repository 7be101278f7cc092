import { and, count, countDistinct, eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { toUsd } from '../../../core/money.ts'
import { VERSION } from '../../../core/version.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { findAgentRow } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { ColonyReads } from './gateway.ts'
import type { CountQuestions } from './rating.ts'
import { type ColonyTier, priceOf, type Rating, rateAgent, readAgentRecord } from './rating.ts'
import { colonyMembers } from './tables.ts'

/** Price of a gateway call before discounts, that of the cheapest plugin. */
const LIST_MICRO_USD = 10_000
const ENDPOINTS = [
  { slug: 'join-colony', description: 'Registers an agent of yours with the address it is paid at', price: 'Free' },
  { slug: 'fitness', description: 'How well an agent of yours does, from its own record', price: 'Free' },
  { slug: 'pricing', description: 'What its tier saves an agent of yours', price: 'Free' },
  { slug: 'pay', description: 'Pays from the wallet of an agent of yours, within its policy', price: 'Variable' },
]

/** Creates the built-in gateway, used without X402_GATEWAY_URL. Its answers come from the platform's records. */
export function createColony(deps: {
  db: Db
  clock: Clock
  countQuestions: CountQuestions
  appUrl: string
}): ColonyReads {
  const readRating = (agentId: string): Rating => rateAgent(readAgentRecord(deps, getAgentRow(deps.db, agentId)))
  return {
    async health() {
      const timestamp = deps.clock.now().toISOString()
      const gateway = `${deps.appUrl}/api/x402`
      return {
        status: 'healthy',
        service: 'stead-colony',
        version: VERSION,
        gateway,
        ...countMembers(deps.db),
        timestamp,
      }
    },
    async join({ agentId, walletAddress, designation }) {
      const joinedAt = deps.clock.now()
      const change = { walletAddress, designation: designation ?? null }
      const member = await write(deps.db, (tx) =>
        tx
          .insert(colonyMembers)
          .values({ agentId, ...change, joinedAt })
          .onConflictDoUpdate({ target: colonyMembers.agentId, set: change })
          .returning()
          .get(),
      )
      const { score, tier } = readRating(agentId)
      return {
        success: true,
        ok: true,
        agentId,
        walletAddress,
        fitness: score,
        tier,
        joinedAt: member.joinedAt.toISOString(),
      }
    },
    async fitness(agentId) {
      const { score, tier, details, events } = readRating(agentId)
      return { success: true, agentId, score, tier, details, events, registered: isMember(deps.db, agentId) }
    },
    async pricing(agentId) {
      const { score, tier } = readRating(agentId)
      const { microUsd, discount } = priceOf(LIST_MICRO_USD, tier)
      return { success: true, agentId, tier, pricing: { rate: toUsd(microUsd), discount }, fitness: { score, tier } }
    },
    endpoints: async () => ENDPOINTS,
  }
}

/** Returns the tier that discounts an agent's calls once it has joined; `new` otherwise. */
export type FindTier = (userId: string, agentId: string) => ColonyTier

/** Creates the tiers of the built-in gateway. */
export function createTiers(deps: { db: Db; clock: Clock; countQuestions: CountQuestions }): FindTier {
  return (userId, agentId) => {
    const isTheirs = and(eq(agents.id, agentId), eq(agents.ownerId, userId))
    const agent = deps.db.select().from(agents).where(isTheirs).get()
    return agent && isMember(deps.db, agentId) ? rateAgent(readAgentRecord(deps, agent)).tier : 'new'
  }
}

/** A colony is the set of one owner's agents. */
function countMembers(db: Db): { agents: number; colonies: number } {
  const counts = { agents: count(), colonies: countDistinct(agents.ownerId) }
  const joined = db.select(counts).from(colonyMembers).innerJoin(agents, eq(agents.id, colonyMembers.agentId)).get()
  return joined ?? { agents: 0, colonies: 0 }
}

function isMember(db: Db, agentId: string): boolean {
  const isThis = eq(colonyMembers.agentId, agentId)
  return db.select({ agentId: colonyMembers.agentId }).from(colonyMembers).where(isThis).get() !== undefined
}

function getAgentRow(db: Db, agentId: string): AgentRow {
  const agent = findAgentRow(db, agentId)
  if (!agent) throw new AppError('not_found', 'Agent not found')
  return agent
}
