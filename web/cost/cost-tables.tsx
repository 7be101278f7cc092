import type { CostDashboard } from '../../src/features/ai/usage/schemas.ts'
import { isOfflineModel, offlineModelWarning } from '../agents/model-field.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import type { CostSums } from './explore.ts'
import { formatCompact, formatCost, formatCount, formatMissing, formatShare } from './figures.ts'

const agentColumns = { Agent: 'text', Cost: 'number', Calls: 'number', Tokens: 'number', 'Per call': 'number' } as const

export function AgentCosts({ agents }: { agents: CostDashboard['agents'] }) {
  const sorted = agents.toSorted((one, other) => (other.cost ?? 0) - (one.cost ?? 0) || other.tokens - one.tokens)
  return (
    <Panel title="By agent">
      <TableFrame label="Cost by agent" columns={agentColumns}>
        {sorted.map((agent) => (
          <tr key={`${agent.name} ${agent.model}`}>
            <AgentName agent={agent} />
            <UseCells costUsd={agent.cost} calls={agent.calls} tokens={agent.tokens} />
            <td className={cellClass('number')}>{formatCost(agent.avgCostPerCall)}</td>
          </tr>
        ))}
      </TableFrame>
    </Panel>
  )
}

function AgentName({ agent: { name, model, tokens, estimatedTokens } }: { agent: CostDashboard['agents'][number] }) {
  return (
    <th scope="row" className={`${cellClass('text')} max-w-56 font-normal`}>
      <span className="block truncate font-medium">{name}</span>
      <span className="block truncate text-muted">{model}</span>
      {estimatedTokens > 0 && (
        <span className="block text-muted">{formatShare(estimatedTokens, tokens)} of the tokens estimated</span>
      )}
      {isOfflineModel(model) && <span className="text-warn">{offlineModelWarning}</span>}
    </th>
  )
}

export function ModelShares({ models }: { models: CostDashboard['modelBreakdown'] }) {
  return (
    <Panel title="By model">
      <ul className="grid grid-cols-1 gap-4 px-4 pt-1 pb-5">
        {models.map((share) => (
          <ModelShare key={share.model} share={share} />
        ))}
      </ul>
    </Panel>
  )
}

function ModelShare({ share: { model, percent, cost } }: { share: CostDashboard['modelBreakdown'][number] }) {
  return (
    <li className="grid grid-cols-1 gap-1.5 text-sm">
      <div className="flex justify-between gap-3">
        <span className="min-w-0 truncate" title={model}>
          {model}
        </span>
        <span className="whitespace-nowrap tabular-nums">
          <span className="text-muted">{Math.round(percent * 10) / 10}%</span> {formatCost(cost)}
        </span>
      </div>
      <ShareBar percent={percent} />
      {isOfflineModel(model) && <p className="text-warn">{offlineModelWarning}</p>}
    </li>
  )
}

function ShareBar({ percent }: { percent: number }) {
  const width = `${Math.min(Math.max(percent, 0), 100)}%`
  return (
    <div aria-hidden className="h-1.5 overflow-hidden rounded-full bg-sunken">
      <div className="h-full rounded-full bg-accent" style={{ width }} />
    </div>
  )
}

/** Cells in the order cost, calls, tokens. */
export function UseCells({ costUsd, calls, tokens, unpricedCalls = 0 }: CostSums) {
  return (
    <>
      <td className={`${cellClass('number')} font-medium`}>
        {formatCost(costUsd)}
        {unpricedCalls > 0 && costUsd !== null && (
          <span className="block text-xs font-normal text-muted">{formatMissing(unpricedCalls)}</span>
        )}
      </td>
      <td className={cellClass('number')}>{formatCount(calls)}</td>
      <td className={cellClass('number')} title={formatCount(tokens)}>
        {formatCompact(tokens)}
      </td>
    </>
  )
}
