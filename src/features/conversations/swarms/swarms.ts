import { and, desc, eq, inArray, lt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { requireQuota } from '../../../core/require-quota.ts'
import { countRows } from '../../../db/count-rows.ts'
import { deleteDependents } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { readPage } from '../../../db/pages.ts'
import { write } from '../../../db/write.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { Base } from '../../base.ts'
import {
  type ChangeSwarmRequest,
  type CreateSwarmRequest,
  idOf,
  type Member,
  type PageQuery,
  type Swarm,
  type SwarmList,
} from './schemas.ts'
import { type SwarmRow, swarms } from './tables.ts'

const MAX_SWARMS_PER_USER = 100

/**
 * @throws AppError `not_found` for another user's agent, `invalid` for a summarizer that is no member, `limited` at 100
 * swarms, `internal` when it cannot be stored.
 */
export async function createSwarm(deps: Base, ownerId: string, request: CreateSwarmRequest): Promise<SwarmRow> {
  try {
    return await write(deps.db, (tx) => insertSwarm(tx, deps.clock, ownerId, request))
  } catch (error) {
    if (error instanceof AppError) throw error
    throw new AppError('internal', 'Failed to create swarm', {}, { cause: error })
  }
}

function insertSwarm(tx: Tx, clock: Clock, ownerId: string, request: CreateSwarmRequest): SwarmRow {
  const { name, description = null, agents: members, summarizer = null } = request
  requireSwarmQuota(tx, ownerId)
  requireOwnAgents(tx, ownerId, members)
  requireMember(summarizer, members)
  const now = clock.now()
  const swarm = { id: newId('swarm'), ownerId, name, description, agents: members, summarizer }
  return tx
    .insert(swarms)
    .values({ ...swarm, createdAt: now, updatedAt: now })
    .returning()
    .get()
}

/** Changes a swarm; running runs are not affected. @throws AppError as `createSwarm`, and `not_found` for the swarm. */
export async function changeSwarm(
  deps: Base,
  ownerId: string,
  id: string,
  change: ChangeSwarmRequest,
): Promise<SwarmRow> {
  return write(deps.db, (tx) => {
    const swarm = getSwarm(tx, ownerId, id)
    if (change.agents) requireOwnAgents(tx, ownerId, change.agents)
    const { summarizer = swarm.summarizer } = change
    requireMember(summarizer, change.agents ?? swarm.agents)
    const isThis = and(eq(swarms.id, id), eq(swarms.ownerId, ownerId))
    const columns = { ...change, updatedAt: deps.clock.now() }
    return tx.update(swarms).set(columns).where(isThis).returning().get()
  })
}

/** Deletes a swarm with its runs and interrupts answering agents. @throws AppError `not_found`. */
export async function deleteSwarm(db: Db, ownerId: string, id: string): Promise<void> {
  getSwarm(db, ownerId, id)
  await deleteDependents(db, swarms, id)
  const isThis = and(eq(swarms.id, id), eq(swarms.ownerId, ownerId))
  await write(db, (tx) => tx.delete(swarms).where(isThis).run())
}

function requireSwarmQuota(tx: Tx, ownerId: string): void {
  const current = countRows(tx, swarms, eq(swarms.ownerId, ownerId))
  requireQuota({ current, limit: MAX_SWARMS_PER_USER, message: 'Swarm limit reached' })
}

function requireOwnAgents(tx: Tx, ownerId: string, members: Member[]): void {
  const isOwn = and(inArray(agents.id, members.map(idOf)), eq(agents.ownerId, ownerId))
  if (countRows(tx, agents, isOwn) !== members.length) throw new AppError('not_found', 'Agent not found')
}

function requireMember(summarizer: string | null, members: Member[]): void {
  if (summarizer === null || members.some((member) => idOf(member) === summarizer)) return
  throw new AppError('invalid', 'summarizer must be one of the agents')
}

/** Returns a page of a user's swarms, newest first. @throws AppError `internal` when they cannot be read. */
export function listSwarms(db: Db, ownerId: string, { limit, before }: PageQuery): SwarmList {
  try {
    const isBefore = before === undefined ? undefined : lt(swarms.sequence, sequenceOf(db, ownerId, before))
    const selection = db
      .select()
      .from(swarms)
      .where(and(eq(swarms.ownerId, ownerId), isBefore))
      .orderBy(desc(swarms.sequence))
    const { rows, hasMore } = readPage(selection, limit)
    const page = rows.map(toSwarm)
    return { swarms: page, count: page.length, hasMore }
  } catch (error) {
    throw new AppError('internal', 'Failed to fetch swarms', {}, { cause: error })
  }
}

/** @throws AppError `not_found` for a missing swarm and for another user's. */
export function getSwarm(db: Db | Tx, ownerId: string, id: string): SwarmRow {
  const row = db
    .select()
    .from(swarms)
    .where(and(eq(swarms.id, id), eq(swarms.ownerId, ownerId)))
    .get()
  if (!row) throw new AppError('not_found', 'Swarm not found')
  return row
}

export function toSwarm(row: SwarmRow): Swarm {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    agents: row.agents,
    summarizer: row.summarizer,
    enabled: row.enabled,
    createdAt: row.createdAt.toISOString(),
  }
}

/** Returns 0 for a swarm that the user does not have: nothing precedes it. */
function sequenceOf(db: Db, ownerId: string, id: string): number {
  const isOwn = and(eq(swarms.id, id), eq(swarms.ownerId, ownerId))
  return db.select({ sequence: swarms.sequence }).from(swarms).where(isOwn).get()?.sequence ?? 0
}
