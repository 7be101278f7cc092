import { and, desc, eq, type SQL, sql } from 'drizzle-orm'
import type { RuntimeName } from '../../../adapters/runtimes/contract/runtime.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { AGENT_TOKEN_PREFIX, newSlug, randomText } from '../../../core/ids.ts'
import type { Log } from '../../../core/log.ts'
import { currentRequestId } from '../../../core/request-id.ts'
import { type Sealer, type SealPurpose, sha256 } from '../../../core/secrets.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { inPages, isBehind, type NewestFirst, newestFirst, type PagePlace } from '../../../db/pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import type { Principal } from '../../../http/env.ts'
import { users } from '../../accounts/users/tables.ts'
import { type AgentRow, agents } from './tables.ts'

/** Lists the agents that the principal may see, newest first. */
export function listAgents(db: Db, principal: Principal): AgentRow[] {
  return db.select().from(agents).where(ownedBy(principal)).orderBy(desc(agents.createdAt), desc(agents.id)).all()
}

/** The default order of agents. */
export const AGENTS_NEWEST_FIRST: NewestFirst = { table: agents, time: agents.createdAt, id: agents.id }
const PAGE = 500

/** Yields pages of the columns that lists need, newest first; each page is read when requested. */
export function* listShort(
  db: Db,
  principal: Principal,
): Generator<Pick<AgentRow, 'id' | 'status' | 'downAt' | 'createdAt'>[], void> {
  const { id, status, downAt, createdAt } = agents
  for (let last: PagePlace | undefined; ; ) {
    const rows = db
      .select({ id, status, downAt, createdAt })
      .from(agents)
      .where(and(ownedBy(principal), last && isBehind(AGENTS_NEWEST_FIRST, last)))
      .orderBy(...newestFirst(AGENTS_NEWEST_FIRST))
      .limit(PAGE)
      .all()
    yield rows
    const end = rows.at(-1)
    if (!end || rows.length < PAGE) return
    last = { time: end.createdAt, id: end.id }
  }
}

/** Returns an agent of any owner; null when missing. */
export function findAgentRow(db: Db, id: string): AgentRow | null {
  return db.select().from(agents).where(eq(agents.id, id)).get() ?? null
}

/** Returns null for a missing or foreign agent. */
export function findAgent(db: Db, principal: Principal, id: string): AgentRow | null {
  return (
    db
      .select()
      .from(agents)
      .where(and(eq(agents.id, id), ownedBy(principal)))
      .get() ?? null
  )
}

/** @throws AppError `not_found` for a missing or foreign agent. */
export function getAgent(db: Db, principal: Principal, id: string): AgentRow {
  const agent = findAgent(db, principal, id)
  if (!agent) throw new AppError('not_found', 'Agent not found')
  return agent
}

/** Returns the time zone of an agent's owner; null for UTC. */
export function findOwnerTimeZone(db: Db | Tx, agentId: string): string | null {
  const ofOwner = db.select({ timeZone: users.timeZone }).from(agents).innerJoin(users, eq(users.id, agents.ownerId))
  return ofOwner.where(eq(agents.id, agentId)).get()?.timeZone ?? null
}

/** Counts the agents that the platform runs for a user; those on the user's own machines cost it nothing. */
export function countAgents(db: Db, ownerId: string): number {
  return countRows(db, agents, and(eq(agents.ownerId, ownerId), isRunHere))
}

/** Selects agents that the platform starts, stops and repairs; the others run on their owners' machines. */
export const isRunHere = sql`${agents.runtime} IS NOT 'machine'`

/** Returns the condition that limits users to their own agents. */
export function ownedBy(principal: Principal): SQL | undefined {
  return principal.kind === 'user' ? eq(agents.ownerId, principal.user.id) : undefined
}

/** 43 of 62 characters: 256 bits. */
const TOKEN_LENGTH = 43

type NewAgent = Pick<AgentRow, 'ownerId' | 'name' | 'model' | 'plan' | 'aiProvider' | 'status'> & { id?: string }

/** Inserts an agent with new tokens, which are encrypted for its row. */
export function insertAgent(deps: { clock: Clock; sealer: Sealer }, tx: Tx, agent: NewAgent): AgentRow {
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

/**
 * Decrypts the agent's tokens. Clients show `gatewayToken` to the agent, the agent shows `accessToken` to the
 * platform.
 */
export function openTokens(sealer: Sealer, agent: AgentRow): { gatewayToken: string; accessToken: string } {
  return {
    gatewayToken: sealer.unseal(agent.gatewayToken, purposeOf('gatewayToken', agent.id)),
    accessToken: sealer.unseal(agent.accessToken, purposeOf('accessToken', agent.id)),
  }
}

/** Creates a gateway token as stored in the agent's row. */
export function newGatewayToken(sealer: Sealer, id: string): Pick<AgentRow, 'gatewayToken'> {
  return { gatewayToken: sealer.seal(`gw_${randomText(TOKEN_LENGTH)}`, purposeOf('gatewayToken', id)) }
}

/** Creates a platform token as stored in the agent's row. */
export function newAccessToken(sealer: Sealer, id: string): Pick<AgentRow, 'accessToken' | 'accessTokenHash'> {
  const token = `${AGENT_TOKEN_PREFIX}${randomText(TOKEN_LENGTH)}`
  return { accessToken: sealer.seal(token, purposeOf('accessToken', id)), accessTokenHash: sha256(token) }
}

/** Encrypts the gateway token that an agent of a machine brought along. */
export function sealGatewayToken(sealer: Sealer, id: string, token: string): Pick<AgentRow, 'gatewayToken'> {
  return { gatewayToken: sealer.seal(token, purposeOf('gatewayToken', id)) }
}

function purposeOf(column: 'gatewayToken' | 'accessToken', id: string): SealPurpose {
  return `agents:${column}:${id}`
}

/** Yields the pages of each agent of a user. */
export function* inPagesOfAgents(db: Db, userId: string, pages: (agentId: string) => Generator<unknown[], void>) {
  const own = db.select({ id: agents.id }).from(agents).where(eq(agents.ownerId, userId))
  for (const { id } of own.all()) yield* pages(id)
}

const agentColumns = {
  id: agents.id,
  name: agents.name,
  model: agents.model,
  plan: agents.plan,
  aiProvider: agents.aiProvider,
  status: agents.status,
  startedAt: agents.startedAt,
  createdAt: agents.createdAt,
  updatedAt: agents.updatedAt,
}

export const personalAgents: PersonalList = {
  name: 'agents',
  tables: [agents],
  pages: (db, userId) =>
    inPages(db, {
      table: agents,
      condition: eq(agents.ownerId, userId),
      read: (isOnPage) => db.select(agentColumns).from(agents).where(isOnPage).all(),
    }),
}

/** Logs a change of an agent at a caller's request: `agent stopped`. */
export function logAgentChange(log: Log, principal: Principal, agentId: string, what: string): void {
  const by = principal.kind === 'user' ? principal.user.id : principal.kind
  log.info({ requestId: currentRequestId(), agentId, by }, `agent ${what}`)
}

/** Returns whether the agent's row names `runtime`. */
export function isAssigned(db: Db, agentId: string, runtime: RuntimeName): boolean {
  const isHere = and(eq(agents.id, agentId), eq(agents.runtime, runtime))
  return db.select({ id: agents.id }).from(agents).where(isHere).get() !== undefined
}
