import { z } from 'zod'

const Detail = z.record(z.string(), z.unknown())
const Change = z.tuple([z.unknown(), z.unknown()])

export function describeDetail(detail: unknown): string[] {
  const parsed = Detail.safeParse(detail)
  if (!parsed.success) return []
  return Object.entries(parsed.data).map(([name, value]) => {
    const change = Change.safeParse(value)
    return `${name}: ${change.success ? change.data.map(show).join(' → ') : show(value)}`
  })
}

function show(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
