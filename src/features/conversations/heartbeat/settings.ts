import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type ChangeHeartbeatRequest, DEFAULT_FREQUENCY, toMs } from './schemas.ts'
import { type HeartbeatRow, heartbeats } from './tables.ts'

/** Off until somebody turns it on: a heartbeat that an agent acts on costs tokens. */
const DEFAULTS = {
  agentId: null,
  frequency: DEFAULT_FREQUENCY,
  enabled: false,
  lastHeartbeatAt: null,
  nextHeartbeatAt: null,
} as const

/** What a user's heartbeat is set to; without an `updatedAt` these are the defaults. */
export type HeartbeatSettings = Omit<HeartbeatRow, 'userId' | 'everyMs' | 'updatedAt'> & { updatedAt: Date | null }

export function findHeartbeat(db: Db | Tx, userId: string): HeartbeatSettings {
  const row = db.select().from(heartbeats).where(eq(heartbeats.userId, userId)).get()
  return row ?? { ...DEFAULTS, updatedAt: null }
}

/**
 * Stores the settings. The next heartbeat is a whole interval away when it was turned on or its interval changed.
 * @throws AppError `not_found` for somebody else's agent.
 */
export async function changeHeartbeat(
  deps: { db: Db; clock: Clock },
  user: SignedInUser,
  request: ChangeHeartbeatRequest,
): Promise<HeartbeatSettings> {
  if (request.agentId) getAgent(deps.db, { kind: 'user', user }, request.agentId)
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const before = findHeartbeat(tx, user.id)
    const { frequency = before.frequency, enabled = before.enabled, agentId = before.agentId } = request
    const everyMs = toMs(frequency) ?? 0
    const isPlanned = before.nextHeartbeatAt !== null && frequency === before.frequency
    const planned = isPlanned ? before.nextHeartbeatAt : new Date(now.getTime() + everyMs)
    const nextHeartbeatAt = enabled ? planned : null
    const change = { frequency, everyMs, enabled, agentId, nextHeartbeatAt, updatedAt: now }
    return tx
      .insert(heartbeats)
      .values({ userId: user.id, ...change })
      .onConflictDoUpdate({ target: heartbeats.userId, set: change })
      .returning()
      .get()
  })
}

/** Back to the defaults: off. */
export async function resetHeartbeat(db: Db, userId: string): Promise<void> {
  await write(db, (tx) => tx.delete(heartbeats).where(eq(heartbeats.userId, userId)).run())
}

/** Leaves the settings as they are, but asks no agent any more, in the caller's closure. */
export function switchOffHeartbeat(tx: Tx, userId: string, now: Date): void {
  tx.update(heartbeats)
    .set({ enabled: false, nextHeartbeatAt: null, updatedAt: now })
    .where(eq(heartbeats.userId, userId))
    .run()
}
