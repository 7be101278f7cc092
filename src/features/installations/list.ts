import { asc, eq } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { Principal } from '../../http/env.ts'
import type { Installations } from './schemas.ts'
import { type InstallationRow, installations } from './tables.ts'

/** All installations the principal may see, oldest first: a user's own, or every one for the operator. */
export function listInstallations(db: Db, principal: Principal): Installations {
  const isOwn = principal.kind === 'user' ? eq(installations.ownerId, principal.user.id) : undefined
  const rows = db
    .select()
    .from(installations)
    .where(isOwn)
    .orderBy(asc(installations.registeredAt), asc(installations.id))
    .all()
  return { success: true, count: rows.length, installations: rows.map(toInstallation) }
}

function toInstallation(row: InstallationRow) {
  return {
    id: row.id,
    userId: row.userId,
    name: row.name,
    mode: row.mode,
    gatewayUrl: row.gatewayUrl,
    registeredAt: row.registeredAt.toISOString(),
    lastSeen: row.lastSeenAt.toISOString(),
    status: row.status,
  }
}
