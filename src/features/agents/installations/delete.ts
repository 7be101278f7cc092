import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { installations } from './tables.ts'

/**
 * Forgets a machine and its token. One that still runs comes back when it registers again: to keep it out, delete its key.
 * @throws AppError `not_found` for a missing one and for someone else's.
 */
export async function deleteInstallation(db: Db, ownerId: string, id: string): Promise<void> {
  const isOwn = and(eq(installations.id, id), eq(installations.ownerId, ownerId))
  const { changes } = await write(db, (tx) => tx.delete(installations).where(isOwn).run())
  if (changes === 0) throw new AppError('not_found', 'Installation not found')
}

/** Forgets all machines of a user, in the caller's closure. */
export function forgetInstallations(tx: Tx, userId: string): void {
  tx.delete(installations).where(eq(installations.ownerId, userId)).run()
}
