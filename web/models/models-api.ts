import { queryOptions } from '@tanstack/react-query'
import { AiHealth, type AiModel, AiModelList } from '../../src/features/ai/gateway/schemas.ts'
import { CallList } from '../../src/features/ai/usage/schemas.ts'
import { api, request } from '../api/request.ts'
import { formatCost } from '../cost/figures.ts'

/** The call is recorded shortly after it ends, so its record is polled a few times. */
const LOOK_MS = 500
const LOOKS = 30

export const catalogueQuery = queryOptions({
  queryKey: ['models', 'catalogue'],
  queryFn: async ({ signal }) => (await request(AiModelList, api.GET('/api/ai/models', { signal }))).models,
  staleTime: 30_000,
})

/** The server checks each provider for up to 5 s. */
export const providerHealthQuery = queryOptions({
  queryKey: ['models', 'health'],
  queryFn: ({ signal }) => request(AiHealth, api.GET('/api/ai/health', { signal })),
  staleTime: 30_000,
  refetchInterval: 60_000,
})

/** Returns null until the call is recorded. */
export function bookedQuery(generationId: string) {
  return queryOptions({
    queryKey: ['models', 'booked', generationId],
    queryFn: async ({ signal }) => {
      const { calls } = await request(
        CallList,
        api.GET('/api/usage/calls', { params: { query: { generationId } }, signal }),
      )
      return calls[0] ?? null
    },
    refetchInterval: ({ state }) => (state.data || state.dataUpdateCount > LOOKS ? false : LOOK_MS),
    staleTime: Number.POSITIVE_INFINITY,
  })
}

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
