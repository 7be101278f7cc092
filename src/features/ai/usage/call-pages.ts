import { and, asc, eq, gt, gte, lte, or } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import { usageLogs } from './tables.ts'

/** Rows that are read in one go. */
const PAGE = 150

export type UsageRow = typeof usageLogs.$inferSelect

/** A user's calls of the time between, oldest first, in the order of the index: however far it is, a page costs the same. */
export function* callsInPages(db: Db, userId: string, { from, until }: { from: Date; until: Date }) {
  let last: Pick<UsageRow, 'createdAt' | 'id'> = { createdAt: from, id: 0 }
  for (;;) {
    const rows = readPage(db, userId, last, until)
    const end = rows.at(-1)
    if (!end) return
    yield rows
    if (rows.length < PAGE) return
    last = end
  }
}

function readPage(db: Db, userId: string, last: Pick<UsageRow, 'createdAt' | 'id'>, until: Date): UsageRow[] {
  const { createdAt, id } = usageLogs
  const isAfter = or(gt(createdAt, last.createdAt), and(eq(createdAt, last.createdAt), gt(id, last.id)))
  return db
    .select()
    .from(usageLogs)
    .where(and(eq(usageLogs.userId, userId), gte(createdAt, last.createdAt), lte(createdAt, until), isAfter))
    .orderBy(asc(createdAt), asc(id))
    .limit(PAGE)
    .all()
}
