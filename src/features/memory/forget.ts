import { and, eq } from 'drizzle-orm'
import { AppError } from '../../core/errors.ts'
import type { Db, Tx } from '../../db/open.ts'
import { write } from '../../db/write.ts'
import { agentMemory } from './tables.ts'

/** @throws AppError `not_found` when the user has no such key with this agent. */
export async function forgetKey(db: Db, userId: string, agentId: string, key: string): Promise<void> {
  const isThis = and(eq(agentMemory.userId, userId), eq(agentMemory.agentId, agentId), eq(agentMemory.key, key))
  const { changes } = await write(db, (tx) => tx.delete(agentMemory).where(isThis).run())
  if (changes === 0) throw new AppError('not_found', 'Memory key not found')
}

/** Takes away everything an agent was told to remember: part of resetting its memory (rulings, 19). */
export function clearMemory(tx: Tx, agentId: string): void {
  tx.delete(agentMemory).where(eq(agentMemory.agentId, agentId)).run()
}
