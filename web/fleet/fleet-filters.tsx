import { AgentStatus } from '../../src/features/agents/registry/schemas.ts'
import type { FleetPage } from '../../src/features/monitoring/fleet/schemas.ts'
import { describeStatus } from '../agents/status-badge.tsx'
import type { FleetSearch } from '../routes/searches.ts'
import { Choice, Pills, SearchField, SortChoice } from '../ui/filters.tsx'

type Sort = NonNullable<FleetSearch['sort']>
const sortWords: Record<Sort, string> = {
  name: 'Name',
  status: 'Status',
  messages: 'Messages today',
  cost: 'Cost today',
  activity: 'Last activity',
  created: 'Newest',
}
const rising: readonly Sort[] = ['name', 'status']

type FleetFiltersProps = { search: FleetSearch; page: FleetPage | undefined; onSearch: (search: FleetSearch) => void }

export function FleetFilters({ search, page, onSearch }: FleetFiltersProps) {
  const change = (part: Partial<FleetSearch>) => onSearch({ ...search, ...part })
  const sort = search.sort ?? 'name'
  const order = search.order ?? (rising.includes(sort) ? 'asc' : 'desc')
  return (
    <div className="grid grid-cols-1 gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search by name or ID"
          placeholder="Name or ID"
          value={search.search ?? ''}
          maxLength={100}
          shortcut="/"
          onSearch={(words) => change({ search: words || undefined })}
          className="min-w-48 flex-1 max-sm:basis-full"
        />
        {page && page.labels.length > 0 && (
          <Choice label="Label" value={search.label ?? ''} onChoose={(label) => change({ label: label || undefined })}>
            <option value="">All labels</option>
            {page.labels.map(({ label, agents }) => (
              <option key={label} value={label}>
                {label} ({agents})
              </option>
            ))}
          </Choice>
        )}
        <SortChoice words={sortWords} sort={sort} order={order} onChoose={change} />
      </div>
      <StatusFilter search={search} statuses={page?.statuses ?? {}} onChoose={(status) => change({ status })} />
    </div>
  )
}

type StatusFilterProps = {
  search: FleetSearch
  statuses: FleetPage['statuses']
  onChoose: (status: AgentStatus | undefined) => void
}

function StatusFilter({ search, statuses, onChoose }: StatusFilterProps) {
  const all = Object.values(statuses).reduce((sum, agents) => sum + agents, 0)
  const shown = AgentStatus.options.filter((status) => statuses[status] || search.status === status)
  return (
    <Pills
      label="Status"
      value={search.status}
      choices={[
        { value: undefined, label: 'All', count: all },
        ...shown.map((status) => ({ value: status, label: describeStatus(status), count: statuses[status] ?? 0 })),
      ]}
      onChoose={(status) => onChoose(status === search.status ? undefined : status)}
    />
  )
}
