import { and, eq } from 'drizzle-orm'
import { toMemoryLines } from '../../../core/text/memory-lines.ts'
import { memoize } from '../../../db/changes/memo.ts'
import type { Db } from '../../../db/open.ts'
import { parameter } from '../../../db/parameters.ts'
import { agents } from '../../agents/registry/tables.ts'
import { readOwnMemory } from './read.ts'
import { agentMemory } from './tables.ts'

/** Such an agent cannot ask for the rest of a value. */
const MAX_SHOWN_CHARACTERS = 4000

/**
 * What the platform remembers for an agent that has no tool to ask for it, as an instruction for its model; null for an
 * agent that asks itself, and when there is nothing.
 */
export function createMemoryInstruction(db: Db): (agentId: string) => string | null {
  const needsIt = db
    .select({ agentId: agents.id })
    .from(agents)
    .innerJoin(agentMemory, eq(agentMemory.agentId, agents.id))
    .where(and(eq(agents.id, parameter('agentId')), eq(agents.kind, 'openclaw')))
    .limit(1)
    .prepare()
  // Every completion asks for it.
  return memoize(db, (agentId) => {
    if (!needsIt.get({ agentId })) return null
    const lines = toMemoryLines(readOwnMemory(db, agentId, MAX_SHOWN_CHARACTERS).facts, '')
    return `What your owner wants you to remember, kept outside of your workspace:\n${lines.join('\n')}`
  })
}
