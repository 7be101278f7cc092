import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { SplitDetail, SplitPage } from '../../src/features/payments/splits/schemas.ts'
import { UndergroundEventList } from '../../src/features/payments/underground/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

export const eventsQuery = queryOptions({
  queryKey: ['events'],
  queryFn: ({ signal }) =>
    request(UndergroundEventList, api.GET('/api/underground/events', { params: { query: { limit: 100 } }, signal })),
})

/** Polls, because payments take time. */
export const splitsQuery = queryOptions({
  queryKey: ['splits'],
  queryFn: async ({ signal }) => (await request(SplitPage, api.GET('/api/underground/splits', { signal }))).splits,
  refetchInterval: 5_000,
})

export function splitQuery(id: number) {
  return queryOptions({
    queryKey: ['splits', id],
    queryFn: async ({ signal }) => {
      const answer = api.GET('/api/underground/splits/{id}', { ...inPath({ id: String(id) }), signal })
      return (await request(z.object({ split: SplitDetail }), answer)).split
    },
    refetchInterval: 5_000,
  })
}
