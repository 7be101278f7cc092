import { and, desc, eq } from 'drizzle-orm'
import type { Db } from '../../../db/open.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { Bookings } from './schemas.ts'

const MAX_BOOKINGS = 10

/** The user's newest ten agents that wait for their first deployment; none for nobody. */
export function listBookings(db: Db, user: SignedInUser | null): Bookings {
  if (!user) return { bookings: [] }
  const rows = db
    .select()
    .from(agents)
    .where(and(eq(agents.ownerId, user.id), eq(agents.status, 'pending')))
    .orderBy(desc(agents.createdAt), desc(agents.id))
    .limit(MAX_BOOKINGS)
    .all()
  return { bookings: rows.map(toBooking) }
}

function toBooking({ id, name, plan, createdAt }: AgentRow): Bookings['bookings'][number] {
  return { id, agentName: name, status: 'pending', tier: plan, createdAt: createdAt.toISOString() }
}
