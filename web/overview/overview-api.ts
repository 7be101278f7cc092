import { queryOptions } from '@tanstack/react-query'
import { Overview } from '../../src/features/admin/overview/schemas.ts'
import { api, request } from '../api/request.ts'

/** What the first page shows; its key lies below that of the agents, so that what changes one changes it. */
export const overviewQuery = queryOptions({
  queryKey: ['agents', 'overview'],
  queryFn: ({ signal }) => request(Overview, api.GET('/api/overview', { signal })),
  refetchInterval: 15_000,
})
