import { queryOptions } from '@tanstack/react-query'
import { AiHealth, AiModelList } from '../../src/features/ai/gateway/schemas.ts'
import { CallList } from '../../src/features/ai/usage/schemas.ts'
import { api, request } from '../api/request.ts'

/** How often, and how often in all, is looked for what a call was booked as: it is, a moment after its end. */
const LOOK_MS = 500
const LOOKS = 30

/** Every model that can be asked, with what is told of it. */
export const catalogueQuery = queryOptions({
  queryKey: ['models', 'catalogue'],
  queryFn: async ({ signal }) => (await request(AiModelList, api.GET('/api/ai/models', { signal }))).models,
  staleTime: 30_000,
})

/** Which providers answer now. The server asks them itself, and waits 5 s for each at most. */
export const providerHealthQuery = queryOptions({
  queryKey: ['models', 'health'],
  queryFn: ({ signal }) => request(AiHealth, api.GET('/api/ai/health', { signal })),
  staleTime: 30_000,
  refetchInterval: 60_000,
})

/** What a call was booked as; null while it is not yet. */
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
