import { inArray } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import type { AuditList } from '../../accounts/audit/schemas.ts'
import { users } from '../../accounts/users/tables.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { NamedAuditList } from './schemas.ts'

/** Adds who and what the ids of a page of the audit log are, of those that are still there. */
export function nameAudit(db: Db, list: AuditList): NamedAuditList {
  const ids = [...new Set(list.entries.flatMap(({ actor, target }) => [actor, target]))]
  const people = db.select({ id: users.id, name: users.email }).from(users).where(inArray(users.id, ids)).all()
  const named = db.select({ id: agents.id, name: agents.name }).from(agents).where(inArray(agents.id, ids)).all()
  return { ...list, names: Object.fromEntries([...people, ...named].map(({ id, name }) => [id, name])) }
}
