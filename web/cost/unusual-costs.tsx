import { queryOptions, useQuery } from '@tanstack/react-query'
import { CostAnomalies } from '../../src/features/monitoring/costs/schemas.ts'
import { api, request } from '../api/request.ts'
import { Notice } from '../ui/notice.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { formatCost, formatCount, formatShare } from './figures.ts'

const anomaliesQuery = queryOptions({
  queryKey: ['cost', 'anomalies'],
  queryFn: ({ signal }) => request(CostAnomalies, api.GET('/api/usage/anomalies', { signal })),
  staleTime: 60_000,
})

const idleColumns = { Agent: 'text', 'Idle cost': 'number', Share: 'number', 'Idle calls': 'number' } as const

/** Agents that cost much more than usual, and the cost of agents in hours without messages to them. */
export function UnusualCosts() {
  const { data } = useQuery(anomaliesQuery)
  if (!data) return null
  return (
    <>
      {data.anomalies.map(({ agentId, agentName, costUsd, medianUsd, factor }) => (
        <Notice key={agentId} tone="warning" title={`${agentName ?? agentId} costs ${factor} times as much as usual`}>
          {formatCost(costUsd)} today, {formatCost(medianUsd)} on a median day of the last 7 days.
        </Notice>
      ))}
      {data.idle.length > 0 && (
        <Panel
          title="Idle cost"
          actions={
            <p className="text-sm text-muted">
              Last 7 days, in hours without messages: heartbeats, scheduled tasks, background work
            </p>
          }
        >
          <TableFrame label="Idle cost by agent" columns={idleColumns}>
            {data.idle.map(({ agentId, agentName, costUsd, idleCostUsd, idleCalls }) => (
              <tr key={agentId}>
                <th scope="row" className={`${cellClass('text')} max-w-56 truncate font-medium`}>
                  {agentName ?? agentId}
                </th>
                <td className={cellClass('number')}>{formatCost(idleCostUsd)}</td>
                <td className={cellClass('number')}>{formatShare(idleCostUsd, costUsd)}</td>
                <td className={cellClass('number')}>{formatCount(idleCalls)}</td>
              </tr>
            ))}
          </TableFrame>
        </Panel>
      )}
    </>
  )
}
