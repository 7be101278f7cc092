import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ModelCall } from '../../src/features/ai/usage/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Modal } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded, Skeleton } from '../ui/notice.tsx'
import { OlderPages } from '../ui/older-pages.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { callsQuery } from './cost-api.ts'
import type { Chosen } from './explore.ts'
import { formatCost, formatCount, formatDuration } from './figures.ts'

type Status = 'succeeded' | 'failed' | undefined

export function Requests({ chosen }: { chosen: Chosen }) {
  const [status, setStatus] = useState<Status>(undefined)
  const [shown, setShown] = useState<ModelCall | null>(null)
  const query = useInfiniteQuery(callsQuery({ ...chosen, status }))
  return (
    <Panel
      title="Requests"
      actions={
        <select
          aria-label="Result"
          value={status ?? ''}
          onChange={({ target }) =>
            setStatus(target.value === 'failed' || target.value === 'succeeded' ? target.value : undefined)
          }
          className="min-h-9 rounded-md border border-edge bg-surface px-2 text-base text-ink sm:text-sm"
        >
          <option value="">All</option>
          <option value="succeeded">Succeeded</option>
          <option value="failed">Failed</option>
        </select>
      }
    >
      <Loaded
        query={query}
        what="requests"
        problemClassName="px-4 pb-4"
        placeholder={<Skeleton className="mx-4 mb-4 h-40" />}
      >
        {({ pages }) => <CallTable calls={pages.flatMap(({ calls }) => calls)} onShow={setShown} />}
      </Loaded>
      <OlderPages query={query} what="requests" />
      {shown && <CallSheet call={shown} onClose={() => setShown(null)} />}
    </Panel>
  )
}

const callColumns = {
  When: 'text',
  Model: 'text',
  For: 'text',
  Tokens: 'number',
  Time: 'number',
  Cost: 'number',
} as const

function CallTable({ calls, onShow }: { calls: readonly ModelCall[]; onShow: (call: ModelCall) => void }) {
  if (calls.length === 0) {
    return <p className="border-t border-line px-4 py-4 text-sm text-muted">No matching requests</p>
  }
  return (
    <TableFrame label="Requests" columns={callColumns}>
      {calls.map((call) => (
        <CallRow key={call.id} call={call} onShow={onShow} />
      ))}
    </TableFrame>
  )
}

function CallRow({ call, onShow }: { call: ModelCall; onShow: (call: ModelCall) => void }) {
  return (
    <tr>
      <td className={cellClass('text')}>
        <button type="button" onClick={() => onShow(call)} className="min-h-8 text-accent underline underline-offset-2">
          <Moment at={call.at} as="minute" />
        </button>
      </td>
      <td className={`${cellClass('text')} max-w-56 truncate`}>
        {call.model} {!call.succeeded && <Badge tone="problem">Failed</Badge>}
      </td>
      <td className={`${cellClass('text')} max-w-40 truncate`}>{callerOf(call)}</td>
      <td className={cellClass('number')}>{formatCount(call.inputTokens + call.outputTokens)}</td>
      <td className={cellClass('number')}>{formatTime(call.latencyMs)}</td>
      <td className={cellClass('number')}>{formatCost(call.costUsd)}</td>
    </tr>
  )
}

function CallSheet({ call, onClose }: { call: ModelCall; onClose: () => void }) {
  const facts: [name: string, value: React.ReactNode][] = [
    ['Time', <Moment key="at" at={call.at} as="minute" />],
    ['Result', call.succeeded ? 'Succeeded' : (call.error ?? 'Failed')],
    ['Model', `${call.model}${call.provider ? ` at ${call.provider}` : ''}`],
    ['Attempts', describeAttempts(call.attempts)],
    ['Duration', formatTime(call.latencyMs)],
    ['Tokens', `${formatCount(call.inputTokens)} input, ${formatCount(call.outputTokens)} output`],
    ['Cost', formatCost(call.costUsd)],
    ['Source', describePrice(call)],
    ['Agent', callerOf(call)],
    ...(call.endpoint ? [['API key', call.endpoint] as [string, string]] : []),
  ]
  return (
    <Modal label="Request" isLight onClose={onClose} className="grid max-w-lg gap-4 p-5">
      <h2 className="text-lg font-semibold">Request</h2>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-5 gap-y-1.5 text-sm">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-muted">{name}</dt>
            <dd className="break-words">{value}</dd>
          </div>
        ))}
      </dl>
      <Button className="justify-self-end" onClick={onClose}>
        Close
      </Button>
    </Modal>
  )
}

function describeAttempts(attempts: number): string {
  if (attempts <= 1) return '1'
  return `${attempts} (earlier providers failed)`
}

function describePrice({ isEstimated, isOwnKey }: ModelCall): string {
  const tokens = isEstimated ? 'Tokens are estimated.' : 'Tokens were reported by the provider.'
  return isOwnKey ? `${tokens} Paid with your own provider key.` : tokens
}

function callerOf({ agentId, agentName, keyName }: ModelCall): string {
  const agent = agentId === 'direct' ? null : (agentName ?? agentId)
  return [agent, keyName && `key ${keyName}`].filter(Boolean).join(', ') || 'no agent'
}

function formatTime(ms: number | null): string {
  return ms === null ? 'not available' : formatDuration(ms)
}
