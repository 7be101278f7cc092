import { Link } from '@tanstack/react-router'
import { memo, useState } from 'react'
import type { FleetAgent } from '../../src/features/monitoring/fleet/schemas.ts'
import { useChangeAgent } from '../agents/agent-changes.ts'
import { LazyAgentMenu } from '../agents/agent-menu.tsx'
import { FieldMark } from '../agents/field-mark.tsx'
import { isOfflineModel, nameModel, offlineModelWarning } from '../agents/model-name.ts'
import { StatusBadge } from '../agents/status-badge.tsx'
import { messageFor } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Moment } from '../ui/moment.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { LabelsDialog } from './labels-dialog.tsx'
import { UptimeBar } from './uptime-bar.tsx'

/** Fixed, so that a list of thousands can be virtualized. */
export const ROW_PX = 68

const count = new Intl.NumberFormat('en')
const usd = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD' })

/** Table columns; on a phone the figures wrap below the name. */
export const columnsClass =
  'grid grid-cols-[1.25rem_2.25rem_minmax(0,1fr)_2.25rem] items-center gap-x-2 px-3 sm:gap-x-3 sm:px-4 lg:grid-cols-[1.25rem_2.25rem_minmax(0,1fr)_7rem_7.5rem_4.5rem_4.5rem_6rem_2.25rem]'

type FleetRowProps = { agent: FleetAgent; isChosen: boolean; onChoose: (id: string, isChosen: boolean) => void }

export const FleetRow = memo(function FleetRow({ agent, isChosen, onChoose }: FleetRowProps) {
  const change = useChangeAgent(agent.id)
  const [isLabelling, setLabelling] = useState(false)
  return (
    <div className={`h-full max-lg:grid-rows-[1.5rem_1.25rem] max-lg:content-center max-lg:gap-y-0.5 ${columnsClass}`}>
      <input
        type="checkbox"
        aria-label={`Select ${agent.name}`}
        checked={isChosen}
        onChange={(event) => onChoose(agent.id, event.target.checked)}
        className="size-4.5 accent-accent max-lg:row-span-2"
      />
      <FieldMark seed={agent.id} className="size-9 max-lg:row-span-2" />
      <div className="grid min-w-0 grid-cols-1">
        <div className="flex min-w-0 items-center gap-2">
          <Link
            to="/agents/$agentId"
            params={{ agentId: agent.id }}
            className="max-w-full shrink-0 truncate font-medium hover:underline"
          >
            {agent.name}
          </Link>
          {agent.labels.length > 0 && <Labels labels={agent.labels} />}
        </div>
        <p className="truncate text-sm text-muted max-lg:hidden">
          <Note agent={agent} problem={change.error && messageFor(change.error)} />
        </p>
      </div>
      <div className="min-w-0 items-center gap-x-1.5 overflow-hidden whitespace-nowrap max-lg:col-start-3 max-lg:row-start-2 max-lg:flex sm:gap-x-2.5 lg:contents">
        <span className="flex">
          <StatusBadge status={agent.status} />
        </span>
        <UptimeBar hours={agent.uptime} className="shrink-0 max-lg:w-12 sm:max-lg:w-24 lg:w-full" />
        <Figure label="messages today" className="max-sm:hidden">
          {count.format(agent.messagesToday)}
        </Figure>
        <Figure label="today">{agent.costTodayUsd === null ? 'Unknown' : usd.format(agent.costTodayUsd)}</Figure>
        <span className="text-right text-sm text-muted max-sm:hidden">
          {agent.lastActivity ? <Moment at={agent.lastActivity} as="distance" /> : 'Never'}
        </span>
      </div>
      <div className="max-lg:col-start-4 max-lg:row-span-2 max-lg:row-start-1">
        <LazyAgentMenu agent={agent} change={change} onLabels={() => setLabelling(true)} />
      </div>
      {isLabelling && <LabelsDialog agent={agent} onClose={() => setLabelling(false)} />}
    </div>
  )
})

/** Labels that do not fit wrap out of sight. */
function Labels({ labels }: { labels: readonly string[] }) {
  return (
    <span
      title={labels.join(', ')}
      className="flex h-6 min-w-0 flex-wrap items-center gap-x-1 overflow-hidden max-sm:hidden"
    >
      <span className="h-6 w-0" />
      {labels.slice(0, 2).map((label) => (
        <Badge key={label}>{label}</Badge>
      ))}
      {labels.length > 2 && <Badge>{`+${labels.length - 2}`}</Badge>}
    </span>
  )
}

export function FleetRowShape() {
  return (
    <div aria-hidden className={`h-full ${columnsClass}`}>
      <span />
      <Skeleton className="size-9" />
      <div className="grid gap-2">
        <Skeleton className="h-4 w-40 max-w-full" />
        <Skeleton className="h-3 w-24" />
      </div>
    </div>
  )
}

function Note({ agent, problem }: { agent: FleetAgent; problem: string | null }) {
  if (problem) return <span className="text-bad">{problem}</span>
  if (agent.status === 'error' && agent.lastError) return <span title={agent.lastError}>{agent.lastError}</span>
  if (isOfflineModel(agent.model)) return <span className="text-warn">{offlineModelWarning}</span>
  return <span title={agent.model}>{nameModel(agent.model)}</span>
}

function Figure({ label, className = '', children }: { label: string; className?: string; children: string }) {
  return (
    <span className={`text-right text-sm tabular-nums max-lg:text-muted ${className}`}>
      {children}
      <span className="max-sm:sr-only lg:sr-only"> {label}</span>
    </span>
  )
}
