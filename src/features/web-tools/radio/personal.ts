import { eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { radioStreams } from './tables.ts'

/** Streams that were made. */
export const personalRadioStreams = wholeList('radioStreams', [radioStreams], (db, userId) =>
  db
    .select()
    .from(radioStreams)
    .where(eq(radioStreams.userId, userId))
    .all()
    .map(({ userId: _, ...stream }) => stream),
)
