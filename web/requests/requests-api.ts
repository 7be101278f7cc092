import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { DeletedBodies, RequestDetail, RequestList } from '../../src/features/ai/requests/schemas.ts'
import { api, inPath, request } from '../api/request.ts'
import type { RequestsSearch } from '../routes/searches.ts'

export type RequestFilters = Omit<RequestsSearch, 'request'>

export function requestsQuery(filters: RequestFilters) {
  return infiniteQueryOptions({
    queryKey: ['requests', filters],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...filters, before: pageParam ?? undefined }
      return request(RequestList, api.GET('/api/requests', { params: { query }, signal }))
    },
    initialPageParam: null as number | null,
    getNextPageParam: ({ next }) => next,
  })
}

export function requestQuery(generationId: string) {
  return queryOptions({
    queryKey: ['requests', 'one', generationId],
    queryFn: ({ signal }) =>
      request(RequestDetail, api.GET('/api/requests/{generationId}', { ...inPath({ generationId }), signal })),
  })
}

export function deleteBodies(generationId: string) {
  return request(DeletedBodies, api.DELETE('/api/requests/{generationId}/bodies', inPath({ generationId })))
}
