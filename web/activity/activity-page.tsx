import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { deploymentsQuery, useOperation, watchdogQuery } from '../agent/agent-api.ts'
import type { AgentPageProps } from '../agent/agent-frame.tsx'
import { AgentFrame } from '../agent/agent-frame.tsx'
import { describeWatchdogEvent } from '../agent/health-panel.tsx'
import { DeploymentLine, ReturnQuestion, useReturn } from '../agent/history-panel.tsx'
import { SnapshotsPanel } from '../agent/snapshots-panel.tsx'
import { BlockedRow } from '../agent-egress/blocked-row.tsx'
import { blockedQuery, useAllow } from '../agent-egress/egress-api.ts'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, LoadingShapes, LoadProblem, Skeleton } from '../ui/notice.tsx'
import { type ActivityFilter, byDay, type Happening, toTimeline } from './timeline.ts'

const route = getRouteApi('/signed-in/agents/$agentId/activity')
const choices = [
  { wanted: 'all', label: 'All' },
  { wanted: 'deployment', label: 'Deployments' },
  { wanted: 'watchdog', label: 'Watchdog' },
  { wanted: 'blocked', label: 'Blocked' },
] as const

/** Page `/agents/$agentId/activity`. */
export function ActivityPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Activity">
      {(page) => <Activity {...page} />}
    </AgentFrame>
  )
}

function Activity({ agent }: AgentPageProps) {
  const [wanted, setWanted] = useState<ActivityFilter>('all')
  const deployments = useQuery(deploymentsQuery(agent.id))
  const watchdog = useQuery(watchdogQuery(agent.id))
  const blocked = useQuery(blockedQuery(agent.id))
  const allow = useAllow(agent.id)
  const operation = useOperation(agent.id)
  const way = useReturn(agent, deployments.data, operation)
  const events = watchdog.data?.events ?? []
  const isLoading = deployments.isPending || watchdog.isPending || blocked.isPending
  return (
    <div className="mx-auto grid w-full max-w-5xl grid-cols-1 gap-6 px-4 py-6 sm:px-8">
      <fieldset className="flex gap-0.5 justify-self-start rounded-lg bg-sunken p-0.5">
        <legend className="sr-only">Type of activity</legend>
        {choices.map((choice) => (
          <button
            key={choice.wanted}
            type="button"
            aria-pressed={wanted === choice.wanted}
            onClick={() => setWanted(choice.wanted)}
            className="inline-flex min-h-8 items-center rounded-md border border-transparent px-2.5 text-sm font-medium text-muted hover:text-ink aria-pressed:border-line aria-pressed:bg-surface aria-pressed:text-ink aria-pressed:shadow-xs"
          >
            {choice.label}
          </button>
        ))}
      </fieldset>
      <ErrorNotice title="Could not roll back" error={operation.error} />
      <ErrorNotice title="Could not allow the destination" error={allow.error} />
      {watchdog.error && !watchdog.data && (
        <LoadProblem what="watchdog events" error={watchdog.error} onRetry={watchdog.refetch} />
      )}
      <Loaded
        query={isLoading ? { data: undefined, error: deployments.error, refetch: deployments.refetch } : deployments}
        what="history"
        placeholder={
          <LoadingShapes what="activity" className="grid gap-3">
            <Skeleton className="h-24 rounded-xl" />
            <Skeleton className="h-24 rounded-xl" />
          </LoadingShapes>
        }
      >
        {(known) => (
          <Timeline
            happenings={toTimeline({ deployments: known, events, blocked: blocked.data ?? [] }, wanted)}
            way={way}
            allow={allow}
          />
        )}
      </Loaded>
      {/* Waits for the content above, which would push this down. */}
      <div className={isLoading ? 'hidden' : 'grid grid-cols-1'}>
        <SnapshotsPanel agent={agent} operation={operation} />
      </div>
      <ReturnQuestion agent={agent} way={way} />
    </div>
  )
}

type TimelineProps = {
  happenings: readonly Happening[]
  way: ReturnType<typeof useReturn>
  allow: ReturnType<typeof useAllow>
}

function Timeline({ happenings, ...actions }: TimelineProps) {
  if (happenings.length === 0) {
    return (
      <p className="rounded-xl border border-dashed border-edge px-6 py-12 text-center text-muted">
        No activity of this type yet.
      </p>
    )
  }
  return byDay(happenings).map(([day, ofDay]) => <TimelineDay key={day} day={day} happenings={ofDay} {...actions} />)
}

function TimelineDay({ day, happenings, ...actions }: TimelineProps & { day: string }) {
  return (
    <section aria-label={day} className="grid grid-cols-1 gap-2">
      <h2 className="text-sm font-semibold text-muted">
        <Moment at={happenings[0]?.at ?? day} />
      </h2>
      <ol className="divide-y divide-line rounded-xl border border-line bg-surface">
        {happenings.map((happening) => (
          <HappeningRow key={happening.id} happening={happening} {...actions} />
        ))}
      </ol>
    </section>
  )
}

type HappeningRowProps = Omit<TimelineProps, 'happenings'> & { happening: Happening }

function HappeningRow({ happening, way, allow }: HappeningRowProps) {
  if (happening.kind === 'blocked') return <BlockedRow blocked={happening.blocked} allow={allow} />
  if (happening.kind === 'deployment') return <DeploymentLine deployment={happening.deployment} {...way} />
  return (
    <li className="flex items-baseline justify-between gap-x-4 px-4 py-3 text-sm">
      <span>
        <span className="text-muted">Watchdog:</span> {describeWatchdogEvent(happening.event)}
      </span>
      <span className="text-muted">
        <Moment at={happening.at} as="clock" />
      </span>
    </li>
  )
}
