import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import type { RadioDeps } from './create.ts'
import { radioStreams } from './tables.ts'

/**
 * Ends a stream for good, with its key. When the provider fails it stays, to be ended again.
 * @throws AppError `not_found` for a missing stream and for someone else's, and what the provider throws.
 */
export async function deleteStream({ db, radio }: RadioDeps, userId: string, id: string): Promise<void> {
  radio.requireConfigured()
  const isOwn = and(eq(radioStreams.userId, userId), eq(radioStreams.providerId, id))
  if (!db.select().from(radioStreams).where(isOwn).get()) throw new AppError('not_found', 'Stream not found')
  await radio.remove(id)
  await write(db, (tx) => tx.delete(radioStreams).where(isOwn).run())
}
