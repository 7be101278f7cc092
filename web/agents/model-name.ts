import type { ListedModel } from '../../src/features/ai/gateway/schemas.ts'

const perMillion = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumFractionDigits: 2 })
const tokens = new Intl.NumberFormat('en', { notation: 'compact' })

export const offlineModelWarning = 'Offline development model (not a real AI)'

/** The offline model repeats its input and must not look like a real model. */
export function isOfflineModel(modelId: string): boolean {
  return modelId === 'local/echo'
}

/** An agent created without a model uses the server's default. */
export function nameModel(modelId: string): string {
  if (modelId === '') return 'No model'
  return modelId === 'default' ? 'Server default' : modelId
}

export function describeModel({ id, name, provider }: ListedModel): string {
  return provider === 'local' && isOfflineModel(id) ? `${id}: offline development model (not a real AI)` : name
}

export function describeTerms({ id, contextLength, pricing }: ListedModel): string {
  const context = contextLength && `${tokens.format(contextLength)} tokens of context`
  return [id, context, pricing ? describePrice(pricing) : 'price unknown'].filter(Boolean).join(' · ')
}

function describePrice({ prompt, completion }: NonNullable<ListedModel['pricing']>): string {
  if (prompt === 0 && completion === 0) return 'free'
  return `${perMillion.format(prompt * 1e6)} input, ${perMillion.format(completion * 1e6)} output per million tokens`
}
