import { infiniteQueryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { type AccountChange, AdminUser, AdminUserList, CreatedUser } from '../../src/features/admin/accounts/schemas.ts'
import { NamedAuditList } from '../../src/features/admin/oversight/schemas.ts'
import { MessagePage, ShownMessage } from '../../src/features/payments/underground/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'

const USERS_KEY = ['admin', 'users']
const DEAD_LETTERS_KEY = ['admin', 'dead-letters']
const FIRST_USER: string | null = null
const FIRST_ENTRY: number | null = null

export function usersQuery(search: string) {
  return infiniteQueryOptions({
    queryKey: [...USERS_KEY, search],
    queryFn: ({ signal, pageParam }) => {
      const query = { limit: 50, search, after: pageParam ?? undefined }
      return request(AdminUserList, api.GET('/api/admin/users', { params: { query }, signal }))
    },
    initialPageParam: FIRST_USER,
    getNextPageParam: ({ next }) => next,
  })
}

export function auditQuery() {
  return infiniteQueryOptions({
    queryKey: ['admin', 'audit'],
    queryFn: ({ signal, pageParam }) => {
      const query = { limit: 50, before: pageParam ?? undefined }
      return request(NamedAuditList, api.GET('/api/admin/audit', { params: { query }, signal }))
    },
    initialPageParam: FIRST_ENTRY,
    getNextPageParam: ({ next }) => next,
  })
}

export function deadLettersQuery() {
  return infiniteQueryOptions({
    queryKey: DEAD_LETTERS_KEY,
    queryFn: ({ signal, pageParam }) => {
      const query = { before: pageParam ?? undefined }
      return request(MessagePage, api.GET('/api/admin/bus/dead-letters', { params: { query }, signal }))
    },
    initialPageParam: FIRST_ENTRY,
    getNextPageParam: ({ next }) => next,
  })
}

export async function replayDeadLetter(id: number): Promise<void> {
  await request(
    z.object({ message: ShownMessage }),
    api.POST('/api/admin/bus/dead-letters/{id}/replay', inPath({ id: String(id) })),
  )
  await refresh({ queryKey: DEAD_LETTERS_KEY })
}

export async function changeUser(id: string, body: AccountChange): Promise<void> {
  await request(z.object({ user: AdminUser }), api.PATCH('/api/admin/users/{id}', { ...inPath({ id }), body }))
  await refresh({ queryKey: USERS_KEY })
}

export async function createUser(body: {
  email: string
  name?: string | undefined
  plan?: string | undefined
  sendMail: boolean
}): Promise<CreatedUser> {
  const created = await request(CreatedUser, api.POST('/api/admin/users', { body }))
  await refresh({ queryKey: USERS_KEY })
  return created
}

export async function endSessionsOf(id: string): Promise<number> {
  const Ended = z.object({ success: z.literal(true), ended: z.number() })
  return (await request(Ended, api.DELETE('/api/admin/users/{id}/sessions', inPath({ id })))).ended
}
