import type { AiModel } from '../../src/features/ai/gateway/schemas.ts'
import { formatCost } from '../cost/figures.ts'

const tokens = new Intl.NumberFormat('en', { notation: 'compact' })

/** US dollars per million tokens. */
export function formatPrice(usdPerMillion: number | null): string {
  if (usdPerMillion === null) return 'price unknown'
  if (usdPerMillion === 0) return 'free'
  return formatCost(usdPerMillion)
}

/** `128K`. */
export function formatContext({ contextWindow }: AiModel): string {
  return contextWindow === null ? 'unknown' : tokens.format(contextWindow)
}

/** `0.84 s`. */
export function formatSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`
}
