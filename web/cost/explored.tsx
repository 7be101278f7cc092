import { X } from 'lucide-react'
import { useState } from 'react'
import type { UsageByDay } from '../../src/features/ai/usage/schemas.ts'
import { isOfflineModel, offlineModelWarning } from '../agents/model-field.tsx'
import { Button } from '../ui/button.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { UseCells } from './cost-tables.tsx'
import {
  addUp,
  type Chosen,
  type CostSums,
  chooseRows,
  DIMENSIONS,
  type Dimension,
  type Share,
  toShares,
  toStack,
} from './explore.ts'
import { formatCompact, formatCost, formatCount } from './figures.ts'
import { Requests } from './requests.tsx'
import { Stacked, useDayBudget } from './stacked.tsx'

type ExploredProps = { usage: UsageByDay; chosen: Chosen; onChoose: (chosen: Chosen) => void }

/** Selecting an agent, model or key filters the whole page. */
export function Explored({ usage, chosen, onChoose }: ExploredProps) {
  const [dimension, setDimension] = useState<Dimension>('agent')
  const rows = chooseRows(usage.rows, chosen)
  const sums = addUp(rows)
  const stack = toStack({ days: usage.days, rows }, dimension)
  const budget = useDayBudget(chosen)
  const nameOfChosen = (dimension: Dimension) =>
    toShares(usage.rows, dimension).find(({ id }) => id === chosen[dimension])?.name ?? chosen[dimension]
  const keys = toShares(rows, 'key')
  return (
    <>
      {DIMENSIONS.some((each) => chosen[each]) && (
        <p className="flex flex-wrap items-center gap-2 text-sm">
          Only
          {DIMENSIONS.filter((each) => chosen[each]).map((each) => (
            <Chip
              key={each}
              label={nameOfChosen(each) ?? ''}
              onRemove={() => onChoose({ ...chosen, [each]: undefined })}
            />
          ))}
        </p>
      )}
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-xl border border-line bg-line lg:grid-cols-4">
        <Tile
          label="Total cost"
          value={formatCost(sums.costUsd)}
          exact={sums.costUsd === null ? undefined : `$${sums.costUsd}`}
        />
        <Tile label="Tokens" value={formatCompact(sums.tokens)} exact={formatCount(sums.tokens)} />
        <Tile label="Calls" value={formatCount(sums.calls)} />
        <Tile label="Average per call" value={formatCost(averageCost(sums))} />
      </dl>
      <Panel
        title="Cost per day"
        actions={
          <fieldset className="flex gap-0.5 rounded-lg bg-sunken p-0.5">
            <legend className="sr-only">Group by</legend>
            {DIMENSIONS.map((each) => (
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
        <Stacked stack={stack} isNothing={(sums.costUsd ?? 0) === 0} budget={budget} />
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
        {keys.some(({ id }) => id !== null) && (
          <Shares title="By key" shares={keys} onChoose={(key) => onChoose({ ...chosen, key })} />
        )}
      </div>
      <Requests key={`${chosen.agent} ${chosen.model} ${chosen.key}`} chosen={chosen} />
    </>
  )
}

/** Averages over calls with a known cost. */
function averageCost({ calls, costUsd, unpricedCalls = 0 }: CostSums): number | null {
  const pricedCalls = calls - unpricedCalls
  if (costUsd === null) return null
  return pricedCalls > 0 ? costUsd / pricedCalls : 0
}

function Chip({ label, onRemove }: { label: string; onRemove: () => void }) {
  return (
    <Button onClick={onRemove} className="max-w-full">
      <span className="min-w-0 truncate">{label}</span>
      <X aria-hidden className="size-3.5 shrink-0" />
      <span className="sr-only">: show all</span>
    </Button>
  )
}

function Tile({ label, value, exact }: { label: string; value: string; exact?: string | undefined }) {
  return (
    <div className="grid gap-1 bg-surface px-4 py-3.5">
      <dt className="text-sm text-muted">{label}</dt>
      <dd title={exact} className="truncate text-xl font-semibold tabular-nums sm:text-2xl">
        {value}
      </dd>
    </div>
  )
}

const nouns = { 'By agent': 'Agent', 'By model': 'Model', 'By key': 'Key' } as const
type SharesProps = { title: keyof typeof nouns; shares: readonly Share[]; onChoose: (id: string) => void }

function Shares({ title, shares, onChoose }: SharesProps) {
  const columns = { [nouns[title]]: 'text', Cost: 'number', Calls: 'number', Tokens: 'number' } as const
  return (
    <Panel title={title}>
      <TableFrame label={`Cost ${title.toLowerCase()}`} columns={columns}>
        {shares.map((share) => (
          <tr key={share.id ?? ''}>
            <ShareName share={share} onChoose={onChoose} />
            <UseCells {...share} />
          </tr>
        ))}
      </TableFrame>
    </Panel>
  )
}

function ShareName({ share: { id, name }, onChoose }: { share: Share; onChoose: (id: string) => void }) {
  const look = 'block max-w-full truncate font-medium text-accent underline underline-offset-2'
  return (
    <th scope="row" className={`${cellClass('text')} max-w-48 font-normal`}>
      {id === null ? (
        name
      ) : (
        <button type="button" onClick={() => onChoose(id)} className={look}>
          {name}
        </button>
      )}
      {id !== null && isOfflineModel(id) && <span className="text-warn">{offlineModelWarning}</span>}
    </th>
  )
}
