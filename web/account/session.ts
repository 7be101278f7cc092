import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  type LoginRequest,
  LoginResponse,
  type RegisterRequest,
  RegisterResponse,
  SessionResponse,
} from '../../src/features/people/accounts/schemas.ts'
import { MessageResponse } from '../../src/features/people/mails/schemas.ts'
import type { ForgotPasswordRequest, ResetPasswordRequest } from '../../src/features/people/passwords/schemas.ts'
import type { SetupRequest } from '../../src/features/people/setup/schemas.ts'
import { request } from '../api/request.ts'
import { withProof } from './proof.ts'

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
  return withProof((proof) => request(RegisterResponse, '/api/register', { method: 'POST', body: { ...body, proof } }))
}

/** Creates the first account by its link; it does not sign in. */
export function setUp(body: SetupRequest) {
  return request(RegisterResponse, '/api/setup', { method: 'POST', body })
}

/** Signs in. @throws ApiError with code `TWO_FACTOR_REQUIRED` when the password was right and `code` is missing. */
export async function signIn(client: QueryClient, body: LoginRequest): Promise<void> {
  await request(LoginResponse, '/api/auth/login', { method: 'POST', body })
  await startSession(client)
}

/** Ends a sign-in with a provider or a wallet by its second factor. */
export async function bringSecondFactor(client: QueryClient, code: string): Promise<void> {
  await request(LoginResponse, '/api/auth/two-factor', { method: 'POST', body: { code } })
  await startSession(client)
}

/** Drops what an earlier user of this tab had loaded, and reads who is signed in now. */
export async function startSession(client: QueryClient): Promise<void> {
  client.clear()
  await client.fetchQuery(sessionQuery)
}

/** Has a link for a new password made; whether there is such an account is not told. */
export function requestPasswordLink(body: ForgotPasswordRequest) {
  return withProof((proof) =>
    request(MessageResponse, '/api/auth/forgot-password', { method: 'POST', body: { ...body, proof } }),
  )
}

/** Sets the password by a link; every session ends. */
export function resetPassword(body: ResetPasswordRequest) {
  return request(MessageResponse, '/api/auth/reset-password', { method: 'POST', body })
}

/** Follows a link, which works once. */
export function verifyEmail(token: string) {
  return request(MessageResponse, '/api/auth/verify-email', { method: 'POST', body: { token } })
}

/** Ends the session on the server; what this tab has loaded stays until the page is left. */
export function signOut() {
  return request(z.object({ ok: z.literal(true) }), '/api/auth/signout', { method: 'POST' })
}

/** Marks this tab as signed out. */
export function forgetSession(client: QueryClient): void {
  client.setQueryData(sessionQuery.queryKey, { user: null })
}
