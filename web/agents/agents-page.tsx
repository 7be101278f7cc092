import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useCallback, useState } from 'react'
import type { FleetPage } from '../../src/features/monitoring/fleet/schemas.ts'
import { PLAN_NEEDED, PlanLink, useNeedsPlan } from '../billing/plan-needed.tsx'
import { BulkBar } from '../fleet/bulk-bar.tsx'
import { fleetQuery, listFleetIds } from '../fleet/fleet-api.ts'
import { FleetFilters } from '../fleet/fleet-filters.tsx'
import { FleetList } from '../fleet/fleet-list.tsx'
import { FleetRowShape } from '../fleet/fleet-row.tsx'
import type { FleetSearch } from '../fleet/fleet-search.ts'
import { useFleetEvents } from '../fleet/use-fleet-events.ts'
import { Page } from '../shell/page.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { LoadingShapes, Notice } from '../ui/notice.tsx'
import { FieldMark } from './field-mark.tsx'
import { Totals } from './totals.tsx'

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
