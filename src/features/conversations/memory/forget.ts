import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findAgent } from '../../agents/registry/agents.ts'
import { isNoteOf, type NoteDeps, writeNote } from './notes.ts'
import { agentMemory } from './tables.ts'

/**
 * Of what the agent keeps in a file of its own the file is emptied.
 * @throws AppError `not_found` when the user has no such agent, or the agent no such key; `conflict` when it is a file and
 * the agent does not run.
 */
export async function forgetKey(
  deps: NoteDeps & { db: Db },
  user: SignedInUser,
  agentId: string,
  key: string,
): Promise<void> {
  const agent = findAgent(deps.db, { kind: 'user', user }, agentId)
  if (!agent) throw noSuchKey()
  if (isNoteOf(agent, key)) await writeNote(deps, agent, key, '')
  else await write(deps.db, (tx) => removeKey(tx, agentId, key))
}

/** As `forgetKey`, for the agent itself. @throws AppError `not_found`. */
export async function forgetOwnKey(db: Db, agentId: string, key: string): Promise<void> {
  await write(db, (tx) => removeKey(tx, agentId, key))
}

/** Takes away everything that an agent remembers: part of resetting its memory (decisions, 19). */
export function clearMemory(tx: Tx, agentId: string): void {
  tx.delete(agentMemory).where(eq(agentMemory.agentId, agentId)).run()
}

function removeKey(tx: Tx, agentId: string, key: string): void {
  const isThis = and(eq(agentMemory.agentId, agentId), eq(agentMemory.key, key))
  if (tx.delete(agentMemory).where(isThis).run().changes === 0) throw noSuchKey()
}

function noSuchKey(): AppError {
  return new AppError('not_found', 'Memory key not found')
}
