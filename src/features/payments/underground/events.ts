import { desc, eq, type SQL } from 'drizzle-orm'
import { formatMicroUsd, parseMicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import type { CreateEventRequest, EventQuery, UndergroundEvent } from './schemas.ts'
import { type EventRow, events } from './tables.ts'

/**
 * Announces an event of one of the principal's agents; the operator may name any agent.
 * @throws AppError `not_found` for other agents.
 */
export async function createEvent(
  deps: Base,
  principal: Principal,
  { ticketPriceUsdc, ...request }: CreateEventRequest,
): Promise<EventRow> {
  const ticketPriceMicroUsd = parseMicroUsd(ticketPriceUsdc) ?? 0
  const pricePlaces = ticketPriceUsdc.split('.')[1]?.length ?? 0
  return write(deps.db, (tx) => {
    const { id: localAgentId, ownerId } = getAgent(tx, principal, request.agentId)
    const whose = { ownerId, localAgentId }
    const row = { ...request, ...whose, ticketPriceMicroUsd, pricePlaces, createdAt: deps.clock.now() }
    return tx.insert(events).values(row).returning().get()
  })
}

/** Lists events of the principal's agents, or all for the operator, latest date first. */
export function listEvents(db: Db, principal: Principal, { limit, offset }: EventQuery): EventRow[] {
  return db
    .select()
    .from(events)
    .where(ownedBy(principal))
    .orderBy(desc(events.eventDate), desc(events.id))
    .limit(limit)
    .offset(offset)
    .all()
}

export function toEvent(row: EventRow): UndergroundEvent {
  return {
    id: row.id,
    agent_id: row.agentId,
    name: row.name,
    description: row.description,
    venue: row.venue,
    event_date: row.eventDate.toISOString(),
    ticket_price_usdc: formatMicroUsd(row.ticketPriceMicroUsd, row.pricePlaces),
    total_tickets: row.totalTickets,
    tickets_sold: row.ticketsSold,
    created_at: row.createdAt.toISOString(),
  }
}

function ownedBy(principal: Principal): SQL | undefined {
  return principal.kind === 'user' ? eq(events.ownerId, principal.user.id) : undefined
}
