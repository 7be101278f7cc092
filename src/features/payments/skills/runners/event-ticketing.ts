import { z } from 'zod'
import { formatMicroUsd, toUsd } from '../../../../core/money.ts'
import type { TicketRow } from '../../settlement/tables.ts'
import { buyTicket, getTicket, refundTicket } from '../../settlement/tickets.ts'
import { createEvent } from '../../underground/events.ts'
import { CreateEventRequest } from '../../underground/schemas.ts'
import { line, parseCall, type RunnerDeps, type SkillCall } from './calls.ts'
import { searchComingEvents, toFoundEvent } from './coming-events.ts'

type Deps = Pick<RunnerDeps, 'db' | 'clock'>

const ticketId = line('ticketId', 100)

const Call = z.discriminatedUnion(
  'action',
  [
    z.object({ action: z.literal('list') }),
    CreateEventRequest.extend({ action: z.literal('create') }),
    z.object({
      action: z.literal('purchase'),
      eventId: z.int('eventId must be the number of an event'),
      email: z.email('email must be an address').max(254).optional(),
      tier: line('tier', 100).optional(),
    }),
    z.object({ action: z.literal('check'), ticketId }),
    z.object({ action: z.literal('refund'), ticketId }),
  ],
  'Invalid action',
)

/** Announces events, sells tickets from balances, checks them and pays them back. @throws AppError as the verbs it calls. */
export async function useEventTicketing(deps: Deps, { user, body, once }: SkillCall): Promise<object> {
  const call = parseCall(Call, body)
  switch (call.action) {
    case 'list':
      return { success: true, events: searchComingEvents(deps, { words: [], inVenueOnly: false }).map(toFoundEvent) }
    case 'create': {
      const { action: _, ...request } = call
      return { success: true, event: toFoundEvent(await createEvent(deps, { kind: 'user', user }, request)) }
    }
    case 'purchase': {
      const ticket = once.made
        ? getTicket(deps.db, user.id, once.made)
        : await buyTicket(deps, user.id, call, once.note)
      return toSale(ticket, call.tier)
    }
    case 'check': {
      const ticket = getTicket(deps.db, user.id, call.ticketId)
      return { success: true, valid: ticket.status === 'valid', ticket: toTicket(ticket) }
    }
    case 'refund': {
      const ticket = await refundTicket(deps, user.id, call.ticketId)
      return {
        success: true,
        refunded: formatMicroUsd(ticket.priceMicroUsd, 2),
        currency: 'USD',
        ticket: toTicket(ticket),
      }
    }
  }
}

/** It is paid at once, from the balance: nothing is pending. */
function toSale(ticket: TicketRow, tier = 'general') {
  const amount = formatMicroUsd(ticket.priceMicroUsd, 2)
  const payment = { protocol: 'balance', amount, currency: 'USD', status: 'paid' }
  return { success: true, pending: false, ticket: { ...toTicket(ticket), tier }, payment }
}

function toTicket({ id, eventId, eventName, email, priceMicroUsd, status, createdAt }: TicketRow) {
  const price = toUsd(priceMicroUsd)
  return { id, eventId, event: eventName, email, price, currency: 'USD', status, boughtAt: createdAt.toISOString() }
}
