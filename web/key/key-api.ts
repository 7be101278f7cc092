import { queryOptions } from '@tanstack/react-query'
import { Key } from '../../src/features/accounts/keys/schemas.ts'
import { KeyReport } from '../../src/features/ai/gateway/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

/** One of the caller's keys. @throws ApiError 404 for a key that is gone or somebody else's. */
export function keyQuery(keyId: string) {
  return queryOptions({
    queryKey: ['keys', keyId],
    queryFn: ({ signal }) => request(Key, api.GET('/api/keys/{id}', { ...inPath({ id: keyId }), signal })),
  })
}

/** What a key used this month beside its limits, and on each of the last 30 days. */
export function keyReportQuery(keyId: string) {
  return queryOptions({
    queryKey: ['keys', keyId, 'usage'],
    queryFn: ({ signal }) => request(KeyReport, api.GET('/api/keys/{id}/usage', { ...inPath({ id: keyId }), signal })),
    staleTime: 30_000,
  })
}
