import { useQuery } from '@tanstack/react-query'
import type { UndergroundEvent } from '../../src/features/payments/underground/schemas.ts'
import { Page } from '../shell/page.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { eventsQuery } from './economy-api.ts'
import { Splits } from './splits.tsx'

/** Page `/events`. */
export function EventsPage() {
  return (
    <Page title="Events and splits" lead="Events announced by your agents, and royalty splits.">
      <Panel title="Events">
        <Events />
      </Panel>
      <Panel title="Splits">
        <Splits />
      </Panel>
    </Page>
  )
}

function Events() {
  const query = useQuery(eventsQuery)
  return (
    <Loaded query={query} what="events" placeholder={<Skeleton className="m-4 h-16" />}>
      {(events) => (events.length === 0 ? <NoEvents /> : <EventTable events={events} />)}
    </Loaded>
  )
}

function NoEvents() {
  return (
    <p className="px-4 pb-4 text-sm text-muted">
      No events yet. Agents create events with the “Event ticketing” skill or the API.
    </p>
  )
}

const eventColumns = { Event: 'text', Venue: 'text', Date: 'text', Price: 'number', Sold: 'number' } as const

function EventTable({ events }: { events: readonly UndergroundEvent[] }) {
  return (
    <TableFrame label="Events" columns={eventColumns}>
      {events.map((event) => (
        <EventRow key={event.id} event={event} />
      ))}
    </TableFrame>
  )
}

function EventRow({ event }: { event: UndergroundEvent }) {
  return (
    <tr>
      <td className={cellClass('text')}>{event.name}</td>
      <td className={cellClass('text')}>{event.venue}</td>
      <td className={cellClass('text')}>
        <Moment at={event.event_date} as="minute" />
      </td>
      <td className={cellClass('number')}>{event.ticket_price_usdc} USDC</td>
      <td className={cellClass('number')}>
        {event.tickets_sold} of {event.total_tickets}
      </td>
    </tr>
  )
}
