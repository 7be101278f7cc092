import { eq } from 'drizzle-orm'
import { countRows } from '../../../db/count-rows.ts'
import type { Db } from '../../../db/open.ts'
import { inPages } from '../../../db/pages/in-pages.ts'
import type { Principal } from '../../../http/env.ts'
import { writeJsonArray } from '../../../http/streams/send-pieces.ts'
import { type InstallationRow, installations } from './tables.ts'

/**
 * All installations the principal may see, in the order of their registration, as pieces of JSON (schema `Installations`):
 * a user's own, or every one for the operator, who may have thousands.
 */
export function* listInstallations(db: Db, principal: Principal): Generator<string, void> {
  const condition = principal.kind === 'user' ? eq(installations.ownerId, principal.user.id) : undefined
  const total = countRows(db, installations, condition)
  const pages = inPages(db, {
    table: installations,
    condition,
    read: (isOnPage) => db.select().from(installations).where(isOnPage).all().map(toInstallation),
  })
  yield `{"success":true,"count":${total},"installations":`
  yield* writeJsonArray(pages)
  yield '}'
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
