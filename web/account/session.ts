import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  type LoginRequest,
  LoginResponse,
  type RegisterRequest,
  RegisterResponse,
  SessionResponse,
} from '../../src/features/accounts/accounts/schemas.ts'
import { MessageResponse } from '../../src/features/accounts/mails/schemas.ts'
import type { ForgotPasswordRequest, ResetPasswordRequest } from '../../src/features/accounts/passwords/schemas.ts'
import type { SetupRequest } from '../../src/features/accounts/setup/schemas.ts'
import { api, request } from '../api/request.ts'
import { withProof } from './proof.ts'

type SignedInUser = NonNullable<SessionResponse['user']>

/** Who is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => request(SessionResponse, api.GET('/api/auth/session', { signal })),
  staleTime: 30_000,
})

/** The known user without asking again, or else what the server says now. */
export async function findUser(client: QueryClient): Promise<SignedInUser | null> {
  const known = client.getQueryData(sessionQuery.queryKey)?.user
  return known ?? (await client.fetchQuery({ ...sessionQuery, staleTime: 0 })).user
}

/** Creates the account; it does not sign in. */
export function register(body: RegisterRequest) {
  return withProof((proof) => request(RegisterResponse, api.POST('/api/register', { body: { ...body, proof } })))
}

/** Creates the first account by its link; it does not sign in. */
export function setUp(body: SetupRequest) {
  return request(RegisterResponse, api.POST('/api/setup', { body }))
}

/** Signs in. @throws ApiError with code `TWO_FACTOR_REQUIRED` when the password was right and `code` is missing. */
export async function signIn(client: QueryClient, body: LoginRequest): Promise<void> {
  await request(LoginResponse, api.POST('/api/auth/login', { body }))
  await startSession(client)
}

/** Ends a sign-in with a provider or a wallet by its second factor. */
export async function bringSecondFactor(client: QueryClient, code: string): Promise<void> {
  await request(LoginResponse, api.POST('/api/auth/two-factor', { body: { code } }))
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
    request(MessageResponse, api.POST('/api/auth/forgot-password', { body: { ...body, proof } })),
  )
}

/** Sets the password by a link; every session ends. */
export function resetPassword(body: ResetPasswordRequest) {
  return request(MessageResponse, api.POST('/api/auth/reset-password', { body }))
}

/** Follows a link, which works once. */
export function verifyEmail(token: string) {
  return request(MessageResponse, api.POST('/api/auth/verify-email', { body: { token } }))
}

/** Ends the session on the server; what this tab has loaded stays until the page is left. */
export function signOut() {
  return request(z.object({ ok: z.literal(true) }), api.POST('/api/auth/signout'))
}

/** Marks this tab as signed out. */
export function forgetSession(client: QueryClient): void {
  client.setQueryData(sessionQuery.queryKey, { user: null })
}
