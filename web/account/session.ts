import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  type LoginRequest,
  LoginResponse,
  type RegisterRequest,
  RegisterResponse,
  SessionResponse,
} from '../../src/features/accounts/schemas.ts'
import { request } from '../api/request.ts'

type SignedInUser = NonNullable<SessionResponse['user']>

/** Who is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => request(SessionResponse, '/api/auth/session', { signal }),
  staleTime: 30_000,
})

/** The known user without asking again, or else what the server says now. */
export async function findUser(client: QueryClient): Promise<SignedInUser | null> {
  const known = client.getQueryData(sessionQuery.queryKey)?.user
  return known ?? (await client.fetchQuery({ ...sessionQuery, staleTime: 0 })).user
}

/** Creates the account; it does not sign in. */
export function register(body: RegisterRequest) {
  return request(RegisterResponse, '/api/register', { method: 'POST', body })
}

/** Signs in and drops what an earlier user of this tab had loaded. */
export async function signIn(client: QueryClient, body: LoginRequest): Promise<void> {
  await request(LoginResponse, '/api/auth/login', { method: 'POST', body })
  client.clear()
  await client.fetchQuery(sessionQuery)
}

/** Ends the session on the server; what this tab has loaded stays until the page is left. */
export function signOut() {
  return request(z.object({ ok: z.literal(true) }), '/api/auth/signout', { method: 'POST' })
}

/** Marks this tab as signed out. */
export function forgetSession(client: QueryClient): void {
  client.setQueryData(sessionQuery.queryKey, { user: null })
}
