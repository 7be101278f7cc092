import { median } from './median.ts'

/** Result of a case. */
export type Measurement = {
  name: string
  /** Our figure and the baseline's, in `unit`; `baseline` is null when the limit is absolute. */
  ours: number
  bare: number | null
  unit: string
  value: number
  /** `at least` for ratios of throughput, `at most` for times and sizes. */
  bound: 'at least' | 'at most'
  layer: number
  /** Target, where it differs from the limit. */
  aim: number | null
  notes: string[]
}

export function isOk({ value, bound, layer }: Measurement): boolean {
  return bound === 'at least' ? value >= layer : value <= layer
}

/** A step that was repeated. Its median is compared with `floor`, an absolute time in seconds; `what` names its end. */
export function toSecondsMeasured(name: string, seconds: readonly number[], layer: number, what?: string): Measurement {
  const typical = median(seconds)
  const range = `fastest ${toFigure(Math.min(...seconds))} s, slowest ${toFigure(Math.max(...seconds))} s`
  const notes = [what === undefined ? range : `${what}; ${range}`]
  return { name, ours: typical, bare: null, unit: 's', value: typical, bound: 'at most', layer, aim: null, notes }
}

/** Formats the table: one line per measurement, with its notes below. */
export function toTable(measurements: readonly Measurement[]): string {
  const header = ['name', 'ours', 'bare baseline', 'ratio', 'floor (aim)', '']
  const rows = [header, ...measurements.map(toRow)]
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
  const [head = '', ...body] = lines
  const withNotes = body.flatMap((line, index) => [
    line,
    ...(measurements[index]?.notes ?? []).map((note) => `    ${note}`),
  ])
  return [head, '-'.repeat(head.length + 8), ...withNotes].join('\n')
}

/** Formats the report as JSON, with whether each limit is met. */
export function toJson(measurements: readonly Measurement[]): string {
  return JSON.stringify(
    { measurements: measurements.map((measurement) => ({ ...measurement, ok: isOk(measurement) })) },
    null,
    2,
  )
}

function toRow(measurement: Measurement): string[] {
  const { name, ours, bare, unit, value, bound, layer, aim } = measurement
  const isRatio = bare !== null
  const toText = (number: number) => (isRatio ? toFigure(number) : `${toFigure(number)} ${unit}`)
  return [
    name,
    `${toFigure(ours)} ${unit}`,
    isRatio ? `${toFigure(bare)} ${unit}` : '-',
    isRatio ? toFigure(value) : '-',
    `${bound === 'at least' ? '≥' : '≤'} ${toText(layer)}${aim === null ? '' : ` (${toText(aim)})`}`,
    isOk(measurement) ? 'ok' : 'SHORT',
  ]
}

/** Formats three significant digits; whole numbers keep all of theirs. */
export function toFigure(number: number): string {
  if (Math.abs(number) >= 100) return Math.round(number).toLocaleString('en-US')
  return String(Number(number.toPrecision(3)))
}
