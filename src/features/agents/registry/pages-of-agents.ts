import { eq } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { agents } from './tables.ts'

/** The pages of each agent of a user, one agent after the other. */
export function* inPagesOfAgents(db: Db, userId: string, pages: (agentId: string) => Generator<unknown[], void>) {
  const own = db.select({ id: agents.id }).from(agents).where(eq(agents.ownerId, userId))
  for (const { id } of own.all()) yield* pages(id)
}
