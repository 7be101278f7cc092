import { asc, eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { installations } from './tables.ts'

/** Machines of one’s own. */
export const personalInstallations = wholeList('installations', [installations], (db, userId) =>
  db
    .select({
      name: installations.name,
      mode: installations.mode,
      gatewayUrl: installations.gatewayUrl,
      status: installations.status,
      registeredAt: installations.registeredAt,
      lastSeenAt: installations.lastSeenAt,
    })
    .from(installations)
    .where(eq(installations.ownerId, userId))
    .orderBy(asc(installations.registeredAt))
    .all(),
)
