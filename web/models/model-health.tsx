import type { AiHealth, ModelHealth } from '../../src/features/ai/gateway/schemas.ts'
import { formatCount, formatShare } from '../cost/figures.ts'
import { Badge } from '../ui/badge.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { formatSeconds } from './models-api.ts'

const columns = {
  Model: 'text',
  Calls: 'number',
  Errors: 'number',
  'Median latency': 'number',
  '95% below': 'number',
} as const

/** Error rate and latency of the models that were called recently. */
export function ModelHealthPanel({ health: { models = [], windowMinutes } }: { health: AiHealth }) {
  if (models.length === 0) return null
  return (
    <Panel
      title="Health"
      actions={<p className="text-sm text-muted">Calls of the last {windowMinutes} minutes on this server</p>}
    >
      <TableFrame label="Health of models" columns={columns}>
        {models.map((model) => (
          <ModelRow key={`${model.provider} ${model.model}`} health={model} />
        ))}
      </TableFrame>
    </Panel>
  )
}

function ModelRow({ health: { provider, model, state, calls, errorRate, latencyMs } }: { health: ModelHealth }) {
  return (
    <tr>
      <th scope="row" className={`${cellClass('text')} font-normal`}>
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium wrap-anywhere">{model}</span>
          {state === 'resting' && <Badge tone="warning">Paused after errors</Badge>}
          {state === 'closed' && <Badge tone="warning">Rate-limited</Badge>}
        </span>
        <span className="block text-muted">{provider}</span>
      </th>
      <td className={cellClass('number')}>{formatCount(calls)}</td>
      <td className={`${cellClass('number')} ${errorRate > 0 ? 'text-bad' : ''}`}>{formatShare(errorRate, 1)}</td>
      <td className={cellClass('number')}>{formatLatency(latencyMs.p50)}</td>
      <td className={cellClass('number')}>{formatLatency(latencyMs.p95)}</td>
    </tr>
  )
}

function formatLatency(ms: number | null): string {
  return ms === null ? '–' : formatSeconds(ms)
}
