import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  type ChangeKeyRequest,
  CreatedKey,
  type CreateKeyRequest,
  Key,
  KeyList,
  RotatedKey,
} from '../../src/features/accounts/keys/schemas.ts'
import { KeyReport } from '../../src/features/ai/gateway/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

export type KeyScope = NonNullable<CreateKeyRequest['scopes']>[number]

export const keysQuery = queryOptions({
  queryKey: ['keys'],
  queryFn: async ({ signal }) => (await request(KeyList, api.GET('/api/keys', { signal }))).keys,
})

/** Only this response contains the raw key. */
export function createKey(body: CreateKeyRequest) {
  return request(CreatedKey, api.POST('/api/keys', { body }))
}

export function changeKey(id: string, body: ChangeKeyRequest) {
  return request(Key, api.PATCH('/api/keys/{id}', { ...inPath({ id }), body }))
}

/** The old key works for `overlapHours` more. */
export function rotateKey(id: string, overlapHours: number) {
  return request(RotatedKey, api.POST('/api/keys/{id}/rotate', { ...inPath({ id }), body: { overlapHours } }))
}

export function deleteKey(id: string) {
  return request(z.object({ success: z.literal(true) }), api.DELETE('/api/keys/{id}', inPath({ id })))
}

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
