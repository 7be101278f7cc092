import {
  Bar,
  BarChart,
  CartesianGrid,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  type TooltipContentProps,
  XAxis,
  YAxis,
} from 'recharts'
import type { Stack } from './explore.ts'
import { formatCost } from './figures.ts'

/** One colour per part; the last is for all others. */
export const FILLS = [
  'var(--plot-a)',
  'var(--plot-c)',
  'var(--plot-e)',
  'var(--plot-b)',
  'var(--plot-d)',
  'var(--edge)',
]
const dayFormat = new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric', timeZone: 'UTC' })
const tick = { fill: 'var(--muted)', fontSize: 12 }

export function StackedChart({ stack, budgetUsd }: { stack: Stack; budgetUsd: number | null }) {
  return (
    <ResponsiveContainer width="100%" height={240}>
      <BarChart
        data={stack.days}
        title="Cost per day"
        margin={{ top: 4, right: 8, bottom: 0, left: 0 }}
        accessibilityLayer
      >
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis
          dataKey="day"
          tickFormatter={toLabel}
          tick={tick}
          tickLine={false}
          axisLine={{ stroke: 'var(--edge)' }}
          minTickGap={16}
        />
        <YAxis tickFormatter={formatCost} tick={tick} tickLine={false} axisLine={false} width={68} tickCount={5} />
        {budgetUsd !== null && (
          <ReferenceLine
            y={budgetUsd}
            stroke="var(--bad)"
            strokeDasharray="5 4"
            strokeWidth={2}
            ifOverflow="extendDomain"
          />
        )}
        <Tooltip
          cursor={{ fill: 'var(--sunken)' }}
          isAnimationActive={false}
          content={(props) => <DayTip {...props} names={stack.names} />}
        />
        {stack.names.map((name, index) => (
          <Bar
            key={name}
            name={name}
            dataKey={`parts[${index}]`}
            stackId="cost"
            fill={FILLS[index] ?? 'var(--edge)'}
            maxBarSize={40}
            isAnimationActive={false}
          />
        ))}
      </BarChart>
    </ResponsiveContainer>
  )
}

type DayTipProps = Pick<TooltipContentProps, 'active' | 'label' | 'payload'> & { names: readonly string[] }

function DayTip({ active, label, payload, names }: DayTipProps) {
  if (!active || !payload || label === undefined) return null
  const values = names.map((name, index) => ({ name, value: Number(payload[index]?.value ?? 0), fill: FILLS[index] }))
  const total = values.reduce((sum, { value }) => sum + value, 0)
  return (
    <div className="grid gap-0.5 rounded-lg border border-line bg-surface px-3 py-2 text-sm shadow-lifted">
      <p className="text-muted">
        {toLabel(String(label))}: <span className="font-medium text-ink">{formatCost(total)}</span>
      </p>
      {values
        .filter(({ value }) => value > 0)
        .map(({ name, value, fill }) => (
          <p key={name} className="flex items-center gap-2 tabular-nums">
            <span aria-hidden className="size-2 rounded-xs" style={{ background: fill }} />
            {name} <span className="font-medium">{formatCost(value)}</span>
          </p>
        ))}
    </div>
  )
}

function toLabel(day: string): string {
  return dayFormat.format(new Date(`${day}T00:00:00Z`))
}
