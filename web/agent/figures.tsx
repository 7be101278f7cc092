import { useQuery } from '@tanstack/react-query'
import { formatDuration } from '../cost/figures.ts'
import { LoadProblem, Skeleton } from '../ui/notice.tsx'
import { statsQuery } from './agent-api.ts'

const count = new Intl.NumberFormat('en')

export function Figures({ agentId }: { agentId: string }) {
  const { data: stats, error, refetch } = useQuery(statsQuery(agentId))
  if (!stats && error) return <LoadProblem what="usage" error={error} onRetry={refetch} />
  const failed = stats && stats.messagesFailed > 0 ? `${count.format(stats.messagesFailed)} failed` : 'received'
  const responseMs = stats?.averageResponseTime
  return (
    <section aria-label="Usage" aria-busy={!stats}>
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line sm:grid-cols-3 lg:grid-cols-6">
        <Tile label="CPU" value={stats && withSpaces(stats.cpu)} note="of one core" />
        <Tile label="Memory" value={stats && withSpaces(firstOf(stats.memory))} note={stats && limitOf(stats.memory)} />
        <Tile
          label="Network"
          value={stats && withSpaces(firstOf(stats.network))}
          note={stats && sentOf(stats.network)}
        />
        <Tile label="Uptime" value={stats?.uptimeFormatted} />
        <Tile label="Messages" value={stats && count.format(stats.messagesProcessed)} note={failed} />
        <Tile label="Response time" value={typeof responseMs === 'number' ? formatDuration(responseMs) : responseMs} />
      </dl>
    </section>
  )
}

function Tile({ label, value, note }: { label: string; value: string | undefined; note?: string | undefined }) {
  const isMeasured = value !== 'N/A'
  const remark = isMeasured ? note : 'not available'
  return (
    <div className="grid content-start gap-0.5 bg-surface px-4 py-3">
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="grid min-h-12 content-start">
        {value === undefined ? (
          <Skeleton className="my-1 h-5 w-16" />
        ) : (
          <span aria-hidden={!isMeasured} className="truncate text-lg font-semibold tabular-nums">
            {isMeasured ? value : '–'}
          </span>
        )}
        {value !== undefined && remark && <span className="truncate text-xs text-muted">{remark}</span>}
      </dd>
    </div>
  )
}

/** Returns "100MiB" of "100MiB / 1GiB". */
function firstOf(pair: string): string {
  return pair.split(' / ')[0] ?? pair
}

/** Inserts a space before the unit: the API writes figures as engines do. */
function withSpaces(figure: string): string {
  return figure.replace(/(?<=\d)(?=[%a-zA-Z])/, '\u00a0')
}

/** Parses "100MiB / 1GiB". */
function limitOf(memory: string): string | undefined {
  const limit = memory.split(' / ')[1]
  return limit && `of ${withSpaces(limit)}`
}

/** Parses "1.2kB / 3.4kB". */
function sentOf(network: string): string | undefined {
  const sent = network.split(' / ')[1]
  return sent && `in, ${withSpaces(sent)} out`
}
