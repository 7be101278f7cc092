import { queryOptions } from '@tanstack/react-query'
import { Overview } from '../../src/features/admin/overview/schemas.ts'
import { api, request } from '../api/request.ts'

/** Its key is below the one of agents, so that changes to agents reload it. */
export const overviewQuery = queryOptions({
  queryKey: ['agents', 'overview'],
  queryFn: ({ signal }) => request(Overview, api.GET('/api/overview', { signal })),
  refetchInterval: 15_000,
})
