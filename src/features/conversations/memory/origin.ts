import { eq } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import type { Origin } from './schemas.ts'
import { agentMemory, type MemoryRow } from './tables.ts'

type OriginColumns = Pick<MemoryRow, 'source' | 'session' | 'page' | 'createdAt' | 'updatedAt'>

/** Everything of a fact but its value, which may be large. */
export const FACT_COLUMNS = {
  sequence: agentMemory.sequence,
  agentId: agentMemory.agentId,
  key: agentMemory.key,
  source: agentMemory.source,
  session: agentMemory.session,
  page: agentMemory.page,
  createdAt: agentMemory.createdAt,
  updatedAt: agentMemory.updatedAt,
}

/** Where each fact of an agent comes from, by key. */
export function listOrigins(db: Db, agentId: string): Record<string, Origin> {
  const rows = db.select(FACT_COLUMNS).from(agentMemory).where(eq(agentMemory.agentId, agentId)).all()
  return Object.fromEntries(rows.map((row) => [row.key, toOrigin(row)]))
}

export function toOrigin({ source, session, page, createdAt, updatedAt }: OriginColumns): Origin {
  const dates = { createdAt: createdAt?.toISOString() ?? null, updatedAt: updatedAt.toISOString() }
  return { source, session, page, ...dates }
}
