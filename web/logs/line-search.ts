import { z } from 'zod'
import type { LogFilter } from './log-filter.ts'
import { LEVELS } from './log-lines.ts'

/** The router parses values that look like numbers. */
const Time = z.coerce.number().int().positive().optional().catch(undefined)

/** `line` is the stored line to show; `q`, `level`, `from` and `to` (ms since 1970) are the filter. */
export const LineSearch = z.object({
  line: z.coerce.number().int().positive().optional().catch(undefined),
  q: z.coerce.string().max(200).optional().catch(undefined),
  level: z.enum(LEVELS).optional().catch(undefined),
  from: Time,
  to: Time,
})
export type LineSearch = z.infer<typeof LineSearch>

export function toLogFilter({ q, level, from, to }: LineSearch): LogFilter {
  const range = from === undefined ? null : { from, to: to ?? Number.POSITIVE_INFINITY }
  return { text: q ?? '', level: level ?? null, range }
}

export function toLineSearch({ text, level, range }: LogFilter): Omit<LineSearch, 'line'> {
  return {
    q: text || undefined,
    level: level ?? undefined,
    from: range ? Math.floor(range.from) : undefined,
    to: range && Number.isFinite(range.to) ? Math.ceil(range.to) : undefined,
  }
}
