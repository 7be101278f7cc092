import { queryOptions } from '@tanstack/react-query'
import { Key } from '../../src/features/accounts/keys/schemas.ts'
import { KeyReport } from '../../src/features/ai/gateway/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

/** @throws ApiError 404 for a deleted key or someone else's. */
export function keyQuery(keyId: string) {
  return queryOptions({
    queryKey: ['keys', keyId],
    queryFn: ({ signal }) => request(Key, api.GET('/api/keys/{id}', { ...inPath({ id: keyId }), signal })),
  })
}

export function keyReportQuery(keyId: string) {
  return queryOptions({
    queryKey: ['keys', keyId, 'usage'],
    queryFn: ({ signal }) => request(KeyReport, api.GET('/api/keys/{id}/usage', { ...inPath({ id: keyId }), signal })),
    staleTime: 30_000,
  })
}
