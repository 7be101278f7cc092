import { useState } from 'react'
import {
  Bar,
  BarChart,
  CartesianGrid,
  ResponsiveContainer,
  Tooltip,
  type TooltipContentProps,
  XAxis,
  YAxis,
} from 'recharts'
import type { CostDashboard } from '../../src/features/ai/usage/schemas.ts'
import { Button } from '../ui/button.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { formatCompact, formatCost, formatCount } from './figures.ts'

export function DailyCost({ daily }: { daily: CostDashboard['daily'] }) {
  const [isTable, setTable] = useState(false)
  return (
    <Panel
      title="Per day"
      actions={
        <Button look="ghost" aria-pressed={isTable} onClick={() => setTable(!isTable)}>
          Show as table
        </Button>
      }
    >
      {isTable ? (
        <DailyTable daily={daily} />
      ) : (
        <div className="grid grid-cols-1 gap-5 px-2 pb-4 sm:px-3">
          <DailyChart title="Cost" daily={daily} measure="cost" />
          <DailyChart title="Tokens" daily={daily} measure="tokens" />
        </div>
      )}
    </Panel>
  )
}

function DailyTable({ daily }: { daily: CostDashboard['daily'] }) {
  return (
    <TableFrame label="Cost and tokens per day" columns={{ Day: 'text', Cost: 'number', Tokens: 'number' }}>
      {daily.map(({ date, cost, tokens }) => (
        <tr key={date}>
          <th scope="row" className={`${cellClass('text')} font-normal`}>
            {date}
          </th>
          <td className={cellClass('number')}>{formatCost(cost)}</td>
          <td className={cellClass('number')}>{formatCount(tokens)}</td>
        </tr>
      ))}
    </TableFrame>
  )
}

const measures = {
  cost: { fill: 'var(--accent)', axis: formatCost, exact: formatCost, heightPx: 200 },
  tokens: { fill: 'var(--tokens)', axis: formatCompact, exact: formatCount, heightPx: 130 },
}

type DailyChartProps = { title: string; daily: CostDashboard['daily']; measure: keyof typeof measures }

/** Charts share one pointer, which the arrow keys move. */
function DailyChart({ title, daily, measure }: DailyChartProps) {
  const { fill, axis, exact, heightPx } = measures[measure]
  return (
    <figure className="grid grid-cols-1 gap-2">
      <figcaption className="flex items-center gap-2 px-2 text-sm text-muted">
        <span aria-hidden className="size-2 rounded-xs" style={{ background: fill }} />
        {title}
      </figcaption>
      {daily.some((day) => (day[measure] ?? 0) > 0) ? (
        <ResponsiveContainer width="100%" height={heightPx}>
          <BarChart
            data={daily}
            syncId="daily"
            title={`${title} per day`}
            margin={{ top: 4, right: 8, bottom: 0, left: 0 }}
            accessibilityLayer
          >
            <CartesianGrid vertical={false} stroke="var(--line)" />
            <XAxis dataKey="date" tick={tick} tickLine={false} axisLine={{ stroke: 'var(--edge)' }} minTickGap={16} />
            <YAxis tickFormatter={axis} tick={tick} tickLine={false} axisLine={false} width={68} tickCount={4} />
            <Tooltip
              cursor={{ fill: 'var(--sunken)' }}
              isAnimationActive={false}
              content={(props) => <DayTip {...props} title={title} format={exact} />}
            />
            <Bar dataKey={measure} fill={fill} radius={[3, 3, 0, 0]} maxBarSize={40} isAnimationActive={false} />
          </BarChart>
        </ResponsiveContainer>
      ) : (
        <p className="px-2 text-sm">{exact(0)} every day.</p>
      )}
    </figure>
  )
}

const tick = { fill: 'var(--muted)', fontSize: 12 }

type DayTipProps = Pick<TooltipContentProps, 'active' | 'label' | 'payload'> & {
  title: string
  format: (value: number) => string
}

function DayTip({ active, label, payload, title, format }: DayTipProps) {
  const value = payload?.[0]?.value
  if (!active || value === undefined) return null
  return (
    <div className="grid gap-0.5 rounded-lg border border-line bg-surface px-3 py-2 text-sm shadow-lifted">
      <p className="text-muted">{label}</p>
      <p className="tabular-nums">
        {title} <span className="font-medium">{format(Number(value))}</span>
      </p>
    </div>
  )
}
