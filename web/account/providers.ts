import { queryOptions } from '@tanstack/react-query'
import { ProvidersResponse } from '../../src/features/accounts/sign-in/schemas.ts'
import { api, request } from '../api/request.ts'

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: ({ signal }) => request(ProvidersResponse, api.GET('/api/auth/providers', { signal })),
  staleTime: 5 * 60_000,
})
