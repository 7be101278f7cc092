import {
  Area,
  Bar,
  CartesianGrid,
  ComposedChart,
  ReferenceLine,
  ResponsiveContainer,
  Tooltip,
  type TooltipContentProps,
  XAxis,
  YAxis,
} from 'recharts'
import type { Mark } from './marks.ts'

/** `at` in ms; `value` is null when it was not measured. */
export type Point = { at: number; value: number | null }

const MIN_LINE_POINTS = 5

type MetricChartProps = {
  title: string
  points: readonly Point[]
  /** Bars for usage, a line for levels. */
  shape: 'bars' | 'line'
  /** Counts have whole numbers on the axis. */
  isCount?: boolean
  format: (value: number) => string
  formatTime: (at: number) => string
  marks: readonly Mark[]
  fill: string
}

/** Charts share one pointer, which the arrow keys move. */
export function MetricChart({
  title,
  points,
  shape,
  isCount = false,
  format,
  formatTime,
  marks,
  fill,
}: MetricChartProps) {
  const data = [...points]
  // A line needs two samples; a single one is drawn as a dot.
  const isSparse = points.filter(({ value }) => value !== null).length < MIN_LINE_POINTS
  return (
    <ResponsiveContainer width="100%" height={150}>
      <ComposedChart
        data={data}
        syncId="agent"
        syncMethod={(_ticks, { activeLabel }) => data.findIndex(({ at }) => at === Number(activeLabel))}
        title={title}
        margin={{ top: 8, right: 8, bottom: 0, left: 0 }}
        accessibilityLayer
      >
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis
          dataKey="at"
          type="number"
          scale="time"
          domain={['dataMin', 'dataMax']}
          padding={shape === 'bars' ? { left: 16, right: 16 } : {}}
          tickFormatter={formatTime}
          tick={tick}
          tickLine={false}
          axisLine={{ stroke: 'var(--edge)' }}
          minTickGap={32}
        />
        <YAxis
          tickFormatter={format}
          tick={tick}
          tickLine={false}
          axisLine={false}
          width={64}
          tickCount={4}
          allowDecimals={!isCount}
        />
        <Tooltip
          cursor={{ stroke: 'var(--edge)', fill: 'var(--sunken)' }}
          isAnimationActive={false}
          content={(props) => <Tip {...props} title={title} format={format} formatTime={formatTime} />}
        />
        {shape === 'bars' ? (
          <Bar dataKey="value" fill={fill} radius={[3, 3, 0, 0]} maxBarSize={28} isAnimationActive={false} />
        ) : (
          <Area
            dataKey="value"
            type="linear"
            stroke={fill}
            strokeWidth={1.5}
            fill={fill}
            fillOpacity={0.12}
            dot={isSparse ? { r: 2.5, fill, strokeWidth: 0 } : false}
            isAnimationActive={false}
          />
        )}
        {marks.map(({ at, kind, text }) => (
          <ReferenceLine
            key={`${at} ${text}`}
            x={at}
            ifOverflow="extendDomain"
            stroke={kind === 'crash' ? 'var(--bad)' : 'var(--accent)'}
            strokeDasharray={kind === 'crash' ? '2 2' : '6 3'}
          />
        ))}
      </ComposedChart>
    </ResponsiveContainer>
  )
}

const tick = { fill: 'var(--muted)', fontSize: 12 }

type TipProps = Pick<TooltipContentProps, 'active' | 'label' | 'payload'> &
  Pick<MetricChartProps, 'title' | 'format' | 'formatTime'>

function Tip({ active, label, payload, title, format, formatTime }: TipProps) {
  const value = payload?.[0]?.value
  if (!active || label === undefined) return null
  return (
    <div className="grid gap-0.5 rounded-lg border border-line bg-surface px-3 py-2 text-sm shadow-lifted">
      <p className="text-muted">{formatTime(Number(label))}</p>
      <p className="tabular-nums">
        {title} <span className="font-medium">{typeof value === 'number' ? format(value) : 'not available'}</span>
      </p>
    </div>
  )
}
