import { useQuery } from '@tanstack/react-query'
import { formatDuration } from '../cost/figures.ts'
import { LoadProblem, Skeleton } from '../ui/notice.tsx'
import { totalsQuery } from './agents-api.ts'

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
