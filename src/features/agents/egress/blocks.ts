import { and, desc, eq, sql } from 'drizzle-orm'
import type { BlockReason } from '../../../adapters/egress/proxy/forward-proxy.ts'
import type { Clock } from '../../../core/clock.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { inPages } from '../../../db/pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { findAgentRow, getAgent, inPagesOfAgents } from '../registry/agents.ts'
import type { BlockedDestination } from './schemas.ts'
import { egressBlocks } from './tables.ts'

/** Rows kept per agent. */
const MAX_BLOCKS = 100
/** Destinations that wait to be written; an agent in a loop must not fill memory. */
const MAX_WAITING = 2000
const FLUSH_MS = 1000

type Blocked = { agentId: string; host: string; port: number; reason: BlockReason }

/** Records refused destinations, in batches because an agent may retry in a loop. */
export type BlockRecorder = {
  note(blocked: Blocked): void
  /** Writes the collected blocks. */
  flush(): Promise<void>
}

export function createBlockRecorder({ db, clock, log }: { db: Db; clock: Clock; log: Log }): BlockRecorder {
  let waiting = new Map<string, Blocked & { count: number; at: Date }>()
  let timer: Timer | null = null

  const flush = async () => {
    if (timer) clearTimeout(timer)
    timer = null
    const batch = [...waiting.values()]
    waiting = new Map()
    if (batch.length > 0) await write(db, (tx) => saveAll(tx, batch))
  }
  return {
    flush,
    note(blocked) {
      const key = `${blocked.agentId} ${blocked.host} ${blocked.port}`
      const known = waiting.get(key)
      if (!known && waiting.size >= MAX_WAITING) return
      waiting.set(key, { ...blocked, count: (known?.count ?? 0) + 1, at: clock.now() })
      timer ??= setTimeout(() => {
        flush().catch((error: unknown) =>
          log.error({ error: errorMessage(error) }, 'blocked destinations were not recorded'),
        )
      }, FLUSH_MS)
      timer.unref()
    },
  }
}

export const personalEgressBlocks: PersonalList = {
  name: 'egressBlocks',
  tables: [egressBlocks],
  pages: (db, userId) =>
    inPagesOfAgents(db, userId, (agentId) =>
      inPages(db, {
        table: egressBlocks,
        condition: eq(egressBlocks.agentId, agentId),
        read: (isOnPage) => db.select().from(egressBlocks).where(isOnPage).all(),
      }),
    ),
}

function saveAll(tx: Tx, batch: readonly (Blocked & { count: number; at: Date })[]): void {
  for (const { agentId, host, port, reason, count, at } of batch) {
    if (!findAgentRow(tx, agentId)) continue
    tx.insert(egressBlocks)
      .values({ agentId, host, port, reason, count, firstAt: at, lastAt: at })
      .onConflictDoUpdate({
        target: [egressBlocks.agentId, egressBlocks.host, egressBlocks.port],
        set: { reason, lastAt: at, count: sql`${egressBlocks.count} + ${count}` },
      })
      .run()
  }
  for (const agentId of new Set(batch.map((one) => one.agentId))) removeOld(tx, agentId)
}

function removeOld(tx: Tx, agentId: string): void {
  const rows = tx
    .select()
    .from(egressBlocks)
    .where(eq(egressBlocks.agentId, agentId))
    .orderBy(desc(egressBlocks.lastAt), egressBlocks.host, egressBlocks.port)
    .all()
  for (const { host, port } of rows.slice(MAX_BLOCKS)) {
    tx.delete(egressBlocks)
      .where(and(eq(egressBlocks.agentId, agentId), eq(egressBlocks.host, host), eq(egressBlocks.port, port)))
      .run()
  }
}

/** Lists the destinations that were refused to an agent, latest first. @throws AppError `not_found`. */
export function listBlocks(db: Db, principal: Principal, id: string): BlockedDestination[] {
  const agent = getAgent(db, principal, id)
  return db
    .select()
    .from(egressBlocks)
    .where(eq(egressBlocks.agentId, agent.id))
    .orderBy(desc(egressBlocks.lastAt), egressBlocks.host)
    .all()
    .map(({ agentId: _, firstAt, lastAt, ...row }) => ({
      ...row,
      firstAt: firstAt.toISOString(),
      lastAt: lastAt.toISOString(),
    }))
}
