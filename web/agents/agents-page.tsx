import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useCallback, useState } from 'react'
import type { FleetPage } from '../../src/features/monitoring/fleet/schemas.ts'
import { PLAN_NEEDED, PlanLink, useNeedsPlan } from '../billing/plan-needed.tsx'
import { formatDuration } from '../cost/figures.ts'
import { BulkBar } from '../fleet/bulk-bar.tsx'
import { fleetQuery, listFleetIds, useFleetEvents } from '../fleet/fleet-api.ts'
import { FleetFilters } from '../fleet/fleet-filters.tsx'
import { FleetList, FleetRowShape } from '../fleet/fleet-list.tsx'
import type { FleetSearch } from '../routes/searches.ts'
import { Page } from '../shell/page.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { Loaded, LoadingShapes, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { totalsQuery } from './agents-api.ts'
import { FieldMark } from './field-mark.tsx'

const route = getRouteApi('/signed-in/agents')

/** Page `/agents`. */
export function AgentsPage() {
  const search = route.useSearch()
  useFleetEvents()
  const query = useQuery({ ...fleetQuery(search, 0), placeholderData: keepPreviousData })
  const { data: page, error } = query
  const isEmpty = page?.total === 0 && isUnnarrowed(search)
  return (
    <Page title="Agents" lead={page && page.total > 0 && summarize(page)} actions={!isEmpty && <CreateLink />}>
      {error && page && (
        <Notice tone="warning" title="This list may be out of date">
          {error.message}
        </Notice>
      )}
      <Loaded query={query} what="agents" placeholder={<Loading />}>
        {(known) => (isEmpty ? <NoAgents /> : <Fleet page={known} search={search} />)}
      </Loaded>
      {page && !isEmpty && <Totals />}
    </Page>
  )
}

function Fleet({ page, search }: { page: FleetPage; search: FleetSearch }) {
  const navigate = useNavigate()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const choose = useCallback((id: string, isChosen: boolean) => {
    setChosen((before) => new Set(isChosen ? [...before, id] : [...before].filter((each) => each !== id)))
  }, [])
  const narrow = (next: FleetSearch) => void navigate({ to: '/agents', search: next, replace: true })
  return (
    <div className="grid grid-cols-1 gap-4">
      <FleetFilters search={search} page={page} onSearch={narrow} />
      {page.total === 0 ? (
        <NothingFits onClear={() => void navigate({ to: '/agents', search: {} })} />
      ) : (
        <FleetList search={search} total={page.total} first={page.agents} chosen={chosen} onChoose={choose} />
      )}
      <BulkBar
        chosen={chosen}
        total={page.total}
        onChooseAll={async () => setChosen(new Set(await listFleetIds(search)))}
        onClear={() => setChosen(new Set())}
      />
    </div>
  )
}

function CreateLink() {
  return (
    <Link to="/agents/new" className={buttonClass('primary')}>
      <Plus aria-hidden className="size-4" />
      Create agent
    </Link>
  )
}

function NoAgents() {
  const needsPlan = useNeedsPlan()
  return (
    <section className="grid justify-items-center gap-4 rounded-xl border border-dashed border-edge px-6 py-14 text-center">
      <div aria-hidden className="flex gap-2">
        <FieldMark seed="north" className="size-9 opacity-45" />
        <FieldMark seed="house" className="size-9" />
        <FieldMark seed="south" className="size-9 opacity-45" />
      </div>
      <div className="grid max-w-sm gap-1">
        <h2 className="text-lg font-semibold">No agents yet</h2>
        <p className="text-muted">
          Each agent has its own gateway, memory and files, and keeps working while you are away.
          {needsPlan && ` ${PLAN_NEEDED}`}
        </p>
      </div>
      {needsPlan ? <PlanLink /> : <CreateLink />}
    </section>
  )
}

function NothingFits({ onClear }: { onClear: () => void }) {
  return (
    <div className="grid justify-items-center gap-3 rounded-xl border border-dashed border-edge px-6 py-12 text-center">
      <p role="status" className="text-muted">
        No agents match these filters.
      </p>
      <Button onClick={onClear}>Clear filters</Button>
    </div>
  )
}

function Loading() {
  return (
    <LoadingShapes what="agents" className="grid gap-px overflow-hidden rounded-xl border border-line bg-line">
      {['first', 'second', 'third'].map((row) => (
        <div key={row} className="h-17 bg-surface">
          <FleetRowShape />
        </div>
      ))}
    </LoadingShapes>
  )
}

function isUnnarrowed({ search, status, label }: FleetSearch): boolean {
  return !search && !status && !label
}

function summarize({ statuses }: FleetPage): string {
  const { running = 0, error = 0, sleeping = 0 } = statuses
  const total = Object.values(statuses).reduce((sum, agents) => sum + agents, 0)
  const others = [...(sleeping ? [`${sleeping} asleep`] : []), ...(error ? [`${error} with an error`] : [])]
  return [`${running} of ${total} running`, ...others].join(', ')
}

const count = new Intl.NumberFormat('en')

/** Covers model calls of the last 24 hours. */
export function Totals() {
  const { data, error, refetch } = useQuery(totalsQuery)
  if (!data && error) return <LoadProblem what="totals" error={error} onRetry={refetch} />
  const { messages, uptime, performance, deployments } = data ?? {}
  const failed = deployments && deployments.failed > 0 ? `, ${count.format(deployments.failed)} failed` : ''
  return (
    <section aria-label="All agents" aria-busy={!data}>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-4 px-1 sm:grid-cols-3 lg:grid-cols-6">
        <Total label="Messages today" value={messages && count.format(messages.today)} />
        <Total label="Success rate" value={performance && toPercent(performance.successRate)} />
        <Total label="Model time" value={performance && toTime(performance.averageResponseTime)} />
        <Total label="CPU, memory" value={performance && joinPercents(performance)} />
        <Total label="Uptime, 30 days" value={uptime && toPercent(uptime.averageAgentUptime)} />
        <Total label="Deployments" value={deployments && `${count.format(deployments.total)}${failed}`} />
      </dl>
    </section>
  )
}

function Total({ label, value }: { label: string; value: string | undefined }) {
  return (
    <div className="grid min-w-0 gap-0.5">
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="truncate font-medium tabular-nums">{value ?? <Skeleton className="my-0.5 h-5 w-16" />}</dd>
    </div>
  )
}

const notMeasured = 'Not available'

function toPercent(percent: number | null): string {
  return percent === null ? notMeasured : `${percent}%`
}

function toTime(ms: number | null): string {
  return ms === null ? notMeasured : formatDuration(ms)
}

function joinPercents({ cpu, memory }: { cpu: number | null; memory: number | null }): string {
  return cpu === null || memory === null ? notMeasured : `${cpu}%, ${memory}%`
}
