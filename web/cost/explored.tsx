import { X } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { UsageByDay } from '../../src/features/models/usage/schemas.ts'
import { isOfflineModel, offlineModelWarning } from '../agents/model-name.ts'
import { Button } from '../ui/button.tsx'
import { Skeleton } from '../ui/notice.tsx'
import { cellClass, headClass, Panel, TableFrame } from '../ui/panel.tsx'
import { addUp, type Chosen, chooseRows, type Dimension, type Share, type Stack, toShares, toStack } from './explore.ts'
import { formatCompact, formatCost, formatCount } from './figures.ts'
import { Requests } from './requests.tsx'

const StackedChart = lazy(async () => ({ default: (await import('./stacked-chart.tsx')).StackedChart }))

type ExploredProps = { usage: UsageByDay; chosen: Chosen; onChoose: (chosen: Chosen) => void }

/** What was used, divided; a press on an agent or a model looks at that alone, in everything on the page. */
export function Explored({ usage, chosen, onChoose }: ExploredProps) {
  const [dimension, setDimension] = useState<Dimension>('agent')
  const rows = chooseRows(usage.rows, chosen)
  const sums = addUp(rows)
  const stack = toStack({ days: usage.days, rows }, dimension)
  const agentName = toShares(usage.rows, 'agent').find(({ id }) => id === chosen.agent)?.name ?? chosen.agent
  return (
    <>
      {(chosen.agent || chosen.model) && (
        <p className="flex flex-wrap items-center gap-2 text-sm">
          Only
          {chosen.agent && <Chip label={agentName ?? ''} onRemove={() => onChoose({ ...chosen, agent: undefined })} />}
          {chosen.model && <Chip label={chosen.model} onRemove={() => onChoose({ ...chosen, model: undefined })} />}
        </p>
      )}
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line lg:grid-cols-4">
        <Tile label="Total cost" value={formatCost(sums.costUsd)} exact={`$${sums.costUsd}`} />
        <Tile label="Tokens" value={formatCompact(sums.tokens)} exact={formatCount(sums.tokens)} />
        <Tile label="Calls" value={formatCount(sums.calls)} />
        <Tile label="Average per call" value={formatCost(sums.calls > 0 ? sums.costUsd / sums.calls : 0)} />
      </dl>
      <Panel
        title="Cost per day"
        actions={
          <fieldset className="flex gap-0.5 rounded-lg bg-sunken p-0.5">
            <legend className="sr-only">Divided by</legend>
            {(['agent', 'model'] as const).map((each) => (
              <button
                key={each}
                type="button"
                aria-pressed={dimension === each}
                onClick={() => setDimension(each)}
                className="min-h-8 rounded-md px-2.5 text-sm font-medium text-muted aria-pressed:bg-surface aria-pressed:text-ink aria-pressed:shadow-xs"
              >
                By {each}
              </button>
            ))}
          </fieldset>
        }
      >
        <Stacked stack={stack} isNothing={sums.costUsd === 0} />
      </Panel>
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <Shares
          title="By agent"
          shares={toShares(rows, 'agent')}
          onChoose={(agent) => onChoose({ ...chosen, agent })}
        />
        <Shares
          title="By model"
          shares={toShares(rows, 'model')}
          onChoose={(model) => onChoose({ ...chosen, model })}
        />
      </div>
      <Requests key={`${chosen.agent} ${chosen.model}`} chosen={chosen} />
    </>
  )
}

function Stacked({ stack, isNothing }: { stack: Stack; isNothing: boolean }) {
  if (isNothing) return <p className="px-4 pb-4 text-sm text-muted">Nothing of it cost anything.</p>
  return (
    <div className="grid grid-cols-1 gap-3 px-2 pb-4 sm:px-3">
      <Suspense fallback={<Skeleton className="h-60" />}>
        <StackedChart stack={stack} />
      </Suspense>
      <ul aria-label="Colours" className="flex flex-wrap gap-x-4 gap-y-1 px-2 text-sm">
        {stack.names.map((name, index) => (
          <li key={name} className="flex min-w-0 items-center gap-2">
            <span aria-hidden className={`size-2 shrink-0 rounded-xs ${swatches[index] ?? 'bg-edge'}`} />
            <span className="min-w-0 truncate">{name}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** In the order of the chart's own. */
const swatches = [
  'bg-[var(--plot-a)]',
  'bg-[var(--plot-c)]',
  'bg-[var(--plot-e)]',
  'bg-[var(--plot-b)]',
  'bg-[var(--plot-d)]',
]

function Chip({ label, onRemove }: { label: string; onRemove: () => void }) {
  return (
    <Button onClick={onRemove} className="max-w-full">
      <span className="min-w-0 truncate">{label}</span>
      <X aria-hidden className="size-3.5 shrink-0" />
      <span className="sr-only">: look at all again</span>
    </Button>
  )
}

function Tile({ label, value, exact }: { label: string; value: string; exact?: string }) {
  return (
    <div className="grid gap-1 bg-surface px-4 py-3.5">
      <dt className="text-sm text-muted">{label}</dt>
      <dd title={exact} className="truncate text-xl font-semibold tabular-nums sm:text-2xl">
        {value}
      </dd>
    </div>
  )
}

type SharesProps = { title: string; shares: readonly Share[]; onChoose: (id: string) => void }

function Shares({ title, shares, onChoose }: SharesProps) {
  return (
    <Panel title={title}>
      <TableFrame label={`Cost ${title.toLowerCase()}`}>
        <thead>
          <tr>
            <th scope="col" className={headClass('text')}>
              {title.replace('By a', 'A').replace('By m', 'M')}
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
          </tr>
        </thead>
        <tbody>
          {shares.map(({ id, name, costUsd, calls, tokens }) => (
            <tr key={id}>
              <th scope="row" className={`${cellClass('text')} max-w-48 font-normal`}>
                <button
                  type="button"
                  onClick={() => onChoose(id)}
                  className="block max-w-full truncate font-medium text-accent underline underline-offset-2"
                >
                  {name}
                </button>
                {isOfflineModel(id) && <span className="text-warn">{offlineModelWarning}</span>}
              </th>
              <td className={`${cellClass('number')} font-medium`}>{formatCost(costUsd)}</td>
              <td className={cellClass('number')}>{formatCount(calls)}</td>
              <td className={cellClass('number')} title={formatCount(tokens)}>
                {formatCompact(tokens)}
              </td>
            </tr>
          ))}
        </tbody>
      </TableFrame>
    </Panel>
  )
}
