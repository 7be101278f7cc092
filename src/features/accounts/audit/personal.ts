import { eq, type SQL } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { auditLog } from './tables.ts'

/** What the account did, and what was done to it. */
export const personalAudit: PersonalList = {
  name: 'audit',
  tables: [auditLog],
  // What the account did itself, and then what was done to it: each has an index of its own.
  *pages(db, userId) {
    const read = (isOnPage: SQL | undefined) => db.select().from(auditLog).where(isOnPage).all()
    const own = inPages(db, { table: auditLog, condition: eq(auditLog.actor, userId), read })
    for (const lines of own) yield lines.map((line) => toOwnLine(line, userId))
    const about = inPages(db, { table: auditLog, condition: eq(auditLog.target, userId), read })
    for (const lines of about) {
      yield lines.filter(({ actor }) => actor !== userId).map((line) => toOwnLine(line, userId))
    }
  },
}

/** What was done to the account by others is told without saying by whom and from where. */
function toOwnLine(line: typeof auditLog.$inferSelect, userId: string) {
  const isOwn = line.actor === userId
  const { action, detail, createdAt } = line
  return { by: isOwn ? 'you' : 'another', action, detail, address: isOwn ? line.address : null, createdAt }
}
