import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Split, SplitPart } from '../../src/features/payments/splits/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { cellClass, TableFrame } from '../ui/panel.tsx'
import { splitQuery, splitsQuery } from './events-page.tsx'

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
