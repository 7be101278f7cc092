import { eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { heartbeats } from './tables.ts'

/** When one’s agents are to report. */
export const personalHeartbeat = wholeList('heartbeat', [heartbeats], (db, userId) =>
  db
    .select()
    .from(heartbeats)
    .where(eq(heartbeats.userId, userId))
    .all()
    .map(({ userId: _, everyMs: __, ...settings }) => settings),
)
