import { useQuery } from '@tanstack/react-query'
import { Breaker } from '../../src/features/ai/breakers/schemas.ts'
import { api, inPath, request } from '../api/request.ts'
import { keyReportQuery } from '../key/key-api.ts'
import type { Chosen } from './explore.ts'
import { formatCost } from './figures.ts'
import { daysOfMonth } from './forecast.ts'

export type DayBudget = { usd: number; label: string }

/** Returns the daily cap of the selected agent, or the daily share of the selected key's monthly budget. */
export function useDayBudget({ agent, model, key }: Chosen): DayBudget | null {
  const ofAgent = Boolean(agent && agent !== 'direct' && !model && !key)
  const ofKey = Boolean(key && !model)
  const breaker = useQuery({
    queryKey: ['agents', agent, 'breaker'],
    queryFn: ({ signal }) =>
      request(Breaker, api.GET('/api/agents/{id}/breaker', { ...inPath({ id: agent ?? '' }), signal })),
    enabled: ofAgent,
    staleTime: 30_000,
  })
  const report = useQuery({ ...keyReportQuery(key ?? ''), enabled: ofKey })
  const cap = ofAgent ? breaker.data?.caps.costUsdPerDay : null
  if (cap) return { usd: cap, label: `Daily limit of the agent: ${formatCost(cap)}` }
  const monthly = ofKey ? report.data?.month.costUsd.limit : null
  if (!monthly) return null
  return {
    usd: monthly / daysOfMonth(new Date()),
    label: `Daily share of the key’s ${formatCost(monthly)} monthly budget`,
  }
}
