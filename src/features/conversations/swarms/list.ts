import { and, desc, eq, lt } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { readPage } from '../../../db/pages/read-page.ts'
import type { PageQuery, Swarm, SwarmList } from './schemas.ts'
import { type SwarmRow, swarms } from './tables.ts'

/** A page of a user's swarms, newest first. @throws AppError `internal` when they cannot be read. */
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

/** @throws AppError `not_found` for a missing swarm and for someone else's. */
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

/** Nothing lies before a swarm that the user does not have. */
function sequenceOf(db: Db, ownerId: string, id: string): number {
  const isOwn = and(eq(swarms.id, id), eq(swarms.ownerId, ownerId))
  return db.select({ sequence: swarms.sequence }).from(swarms).where(isOwn).get()?.sequence ?? 0
}
