import type { CostDashboard } from '../../src/features/models/usage/schemas.ts'
import { isOfflineModel, offlineModelWarning } from '../agents/model-name.ts'
import { cellClass, headClass, Panel, TableFrame } from '../ui/panel.tsx'
import { formatCompact, formatCost, formatCount, formatShare } from './figures.ts'

/** What each agent has used, the most expensive first. */
export function AgentCosts({ agents }: { agents: CostDashboard['agents'] }) {
  const sorted = agents.toSorted((one, other) => other.cost - one.cost || other.tokens - one.tokens)
  return (
    <Panel title="By agent">
      <TableFrame label="Cost by agent">
        <thead>
          <tr>
            <th scope="col" className={headClass('text')}>
              Agent
            </th>
            <th scope="col" className={headClass('number')}>
              Cost
            </th>
            <th scope="col" className={headClass('number')}>
              Calls
            </th>
            <th scope="col" className={headClass('number')}>
              Tokens
            </th>
            <th scope="col" className={headClass('number')}>
              Per call
            </th>
          </tr>
        </thead>
        <tbody>
          {sorted.map((agent) => (
            <tr key={`${agent.name} ${agent.model}`}>
              <th scope="row" className={`${cellClass('text')} max-w-56 font-normal`}>
                <span className="block truncate font-medium">{agent.name}</span>
                <span className="block truncate text-muted">{agent.model}</span>
                {agent.estimatedTokens > 0 && (
                  <span className="block text-muted">
                    {formatShare(agent.estimatedTokens, agent.tokens)} of the tokens estimated
                  </span>
                )}
                {isOfflineModel(agent.model) && <span className="text-warn">{offlineModelWarning}</span>}
              </th>
              <td className={`${cellClass('number')} font-medium`}>{formatCost(agent.cost)}</td>
              <td className={cellClass('number')}>{formatCount(agent.calls)}</td>
              <td className={cellClass('number')} title={formatCount(agent.tokens)}>
                {formatCompact(agent.tokens)}
              </td>
              <td className={cellClass('number')}>{formatCost(agent.avgCostPerCall)}</td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </Panel>
  )
}

/** How the cost divides among models. */
export function ModelShares({ models }: { models: CostDashboard['modelBreakdown'] }) {
  return (
    <Panel title="By model">
      <ul className="grid grid-cols-1 gap-4 px-4 pt-1 pb-5">
        {models.map(({ model, percent, cost }) => (
          <li key={model} className="grid grid-cols-1 gap-1.5 text-sm">
            <div className="flex justify-between gap-3">
              <span className="min-w-0 truncate" title={model}>
                {model}
              </span>
              <span className="whitespace-nowrap tabular-nums">
                <span className="text-muted">{Math.round(percent * 10) / 10}%</span> {formatCost(cost)}
              </span>
            </div>
            <div aria-hidden className="h-1.5 overflow-hidden rounded-full bg-sunken">
              <div
                className="h-full rounded-full bg-accent"
                style={{ width: `${Math.min(Math.max(percent, 0), 100)}%` }}
              />
            </div>
            {isOfflineModel(model) && <p className="text-warn">{offlineModelWarning}</p>}
          </li>
        ))}
      </ul>
    </Panel>
  )
}
