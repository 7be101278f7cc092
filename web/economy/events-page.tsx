import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import { type Split, SplitDetail, SplitPage, type SplitPart } from '../../src/features/payments/splits/schemas.ts'
import { type UndergroundEvent, UndergroundEventList } from '../../src/features/payments/underground/schemas.ts'
import { api, inPath, request } from '../api/request.ts'
import { Page } from '../shell/page.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded, Skeleton } from '../ui/notice.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'

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

const STATES: Record<Split['status'], { word: string; tone: 'good' | 'plain' | 'warning' | 'problem' }> = {
  queued: { word: 'Queued', tone: 'plain' },
  processing: { word: 'Paying', tone: 'plain' },
  settled: { word: 'Settled', tone: 'good' },
  partially_settled: { word: 'Partly settled', tone: 'warning' },
  failed: { word: 'Failed', tone: 'problem' },
}

const PARTS: Record<SplitPart['status'], string> = {
  queued: 'Queued',
  skipped: 'Below the threshold',
  awaiting_approval: 'Awaiting approval',
  created: 'Queued',
  sent: 'Sent',
  succeeded: 'Paid',
  failed: 'Failed',
  unknown: 'Unknown',
  denied: 'Denied',
}

export function Splits() {
  const query = useQuery(splitsQuery)
  return (
    <Loaded query={query} what="splits" placeholder={<Skeleton className="m-4 h-16" />}>
      {(splits) => {
        if (splits.length === 0) {
          return (
            <p className="px-4 pb-4 text-sm text-muted">
              No splits yet. Use the “Instant split” skill or the API to divide an amount among recipients.
            </p>
          )
        }
        return (
          <ul aria-label="Splits" className="divide-y divide-line border-t border-line">
            {splits.map((split) => (
              <SplitRow key={split.id} split={split} />
            ))}
          </ul>
        )
      }}
    </Loaded>
  )
}

function SplitRow({ split }: { split: Split }) {
  const [isOpen, setOpen] = useState(false)
  const { word, tone } = split.isHeld ? { word: 'Awaiting execution', tone: 'warning' as const } : STATES[split.status]
  return (
    <li className="grid grid-cols-1 gap-2 px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 font-medium break-words">{split.name}</span>
        <Badge tone={tone}>{word}</Badge>
        <span className="tabular-nums">{split.totalAmount} USDC</span>
        <span className="text-sm text-muted">
          <Moment at={split.createdAt} as="minute" />
        </span>
        <Button
          look="ghost"
          className="ml-auto"
          aria-expanded={isOpen}
          aria-label={`Recipients of ${split.name}`}
          onClick={() => setOpen(!isOpen)}
        >
          Recipients
        </Button>
      </div>
      {split.reason && !split.isHeld && <p className="text-sm text-muted wrap-anywhere">{split.reason}</p>}
      {isOpen && <Recipients id={split.id} name={split.name} />}
    </li>
  )
}

const recipientColumns = { Recipient: 'text', Share: 'number', Amount: 'number', Payment: 'text' } as const

function Recipients({ id, name }: { id: number; name: string }) {
  const query = useQuery(splitQuery(id))
  return (
    <Loaded query={query} what="recipients" placeholder={<Skeleton className="h-12" />}>
      {({ recipients }) => (
        <TableFrame label={`Recipients of ${name}`} columns={recipientColumns}>
          {recipients.map((part, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an address may occur twice and the order never changes
            <RecipientRow key={index} part={part} />
          ))}
        </TableFrame>
      )}
    </Loaded>
  )
}

function RecipientRow({ part }: { part: SplitPart }) {
  return (
    <tr>
      <td className={cellClass('text')}>
        {part.name && <span className="block">{part.name}</span>}
        <code className="text-[0.8125rem] wrap-anywhere">{part.address}</code>
      </td>
      <td className={cellClass('number')}>{part.share}%</td>
      <td className={cellClass('number')}>{part.amount}</td>
      <td className={cellClass('text')}>
        {PARTS[part.status]}
        {part.transactionHash && <code className="block text-xs wrap-anywhere">{part.transactionHash}</code>}
        {part.reason && <span className="block text-xs text-muted">{part.reason}</span>}
      </td>
    </tr>
  )
}

export const eventsQuery = queryOptions({
  queryKey: ['events'],
  queryFn: ({ signal }) =>
    request(UndergroundEventList, api.GET('/api/underground/events', { params: { query: { limit: 100 } }, signal })),
})

/** Polls, because payments take time. */
export const splitsQuery = queryOptions({
  queryKey: ['splits'],
  queryFn: async ({ signal }) => (await request(SplitPage, api.GET('/api/underground/splits', { signal }))).splits,
  refetchInterval: 5_000,
})

export function splitQuery(id: number) {
  return queryOptions({
    queryKey: ['splits', id],
    queryFn: async ({ signal }) => {
      const answer = api.GET('/api/underground/splits/{id}', { ...inPath({ id: String(id) }), signal })
      return (await request(z.object({ split: SplitDetail }), answer)).split
    },
    refetchInterval: 5_000,
  })
}
