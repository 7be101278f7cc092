import { and, eq, lt } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import type { Log } from '../../../core/log.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { HeartbeatRequest } from './schemas.ts'
import { installations } from './tables.ts'

/** Decisions, 15: what is silent for longer is inactive. */
const SILENT_MS = 15 * 60_000

/** Notes that a user's machine lives, or all of theirs when none is named. Fine when there is none (decisions, 15). */
export async function noteHeartbeat(
  { db, clock }: { db: Db; clock: Clock },
  { userId, name }: HeartbeatRequest,
): Promise<void> {
  if (!userId) return
  const isTheirs = and(eq(installations.userId, userId), name === undefined ? undefined : eq(installations.name, name))
  // Anybody may send a heartbeat: what finds no row must not cost a write.
  if (!db.select({ id: installations.id }).from(installations).where(isTheirs).get()) return
  await write(db, (tx) =>
    tx.update(installations).set({ lastSeenAt: clock.now(), status: 'active' }).where(isTheirs).run(),
  )
}

/** Marks the machines that have been silent for more than 15 minutes, once each. */
export async function markSilent(deps: { db: Db; clock: Clock; log: Log }): Promise<void> {
  const silentSince = new Date(deps.clock.now().getTime() - SILENT_MS)
  const isSilent = and(eq(installations.status, 'active'), lt(installations.lastSeenAt, silentSince))
  if (!deps.db.select({ id: installations.id }).from(installations).where(isSilent).get()) return
  const gone = await write(deps.db, (tx) =>
    tx.update(installations).set({ status: 'inactive' }).where(isSilent).returning().all(),
  )
  for (const { id, userId, mode, lastSeenAt } of gone) {
    deps.log.warn({ installationId: id, userId, mode, lastSeen: lastSeenAt }, 'an installation fell silent')
  }
}
