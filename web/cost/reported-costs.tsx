import { queryOptions, useQuery } from '@tanstack/react-query'
import { Reconciliation } from '../../src/features/monitoring/costs/schemas.ts'
import { api, request } from '../api/request.ts'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { formatCost, formatCount } from './figures.ts'

function reconciliationQuery(days: number) {
  return queryOptions({
    queryKey: ['cost', 'reconciliation', days],
    queryFn: ({ signal }) =>
      request(Reconciliation, api.GET('/api/usage/reconciliation', { params: { query: { days } }, signal })),
    staleTime: 60_000,
  })
}

const columns = {
  Model: 'text',
  Calls: 'number',
  Reported: 'number',
  'By list price': 'number',
  Gap: 'number',
} as const

/** Costs that providers reported, next to the cost of the same calls by list prices. */
export function ReportedCosts({ days }: { days: number }) {
  const { data } = useQuery(reconciliationQuery(days))
  if (!data || data.models.length === 0) return null
  return (
    <Panel
      title="Reported cost"
      actions={
        <span className="text-sm text-muted tabular-nums">
          {formatGap(data.total.gapUsd)} against list prices of {formatCost(data.total.listUsd)}
        </span>
      }
    >
      <TableFrame label="Reported cost by model" columns={columns}>
        {data.models.map(({ model, provider, calls, reportedUsd, listUsd, gapUsd }) => (
          <tr key={`${provider} ${model}`}>
            <th scope="row" className={`${cellClass('text')} max-w-56 font-normal`}>
              <span className="block truncate font-medium">{model}</span>
              <span className="block truncate text-muted">{provider}</span>
            </th>
            <td className={cellClass('number')}>{formatCount(calls)}</td>
            <td className={cellClass('number')}>{formatCost(reportedUsd)}</td>
            <td className={cellClass('number')}>{formatCost(listUsd)}</td>
            <td className={cellClass('number')}>{formatGap(gapUsd)}</td>
          </tr>
        ))}
      </TableFrame>
    </Panel>
  )
}

function formatGap(gapUsd: number): string {
  if (gapUsd === 0) return formatCost(0)
  return `${gapUsd > 0 ? '+' : '−'}${formatCost(Math.abs(gapUsd))}`
}
