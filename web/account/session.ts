import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { MessageResponse } from '../../src/features/accounts/notifications/schemas.ts'
import type { ForgotPasswordRequest, ResetPasswordRequest } from '../../src/features/accounts/passwords/schemas.ts'
import type { SetupRequest } from '../../src/features/accounts/registration/schemas.ts'
import {
  type LoginRequest,
  LoginResponse,
  type RegisterRequest,
  RegisterResponse,
  SessionResponse,
} from '../../src/features/accounts/registration/schemas.ts'
import { ProvidersResponse } from '../../src/features/accounts/sign-in/schemas.ts'
import { queryClient, SESSION_KEY } from '../api/query-client.ts'
import { api, request } from '../api/request.ts'
import { withProof } from './proof-of-work.ts'

type SignedInUser = NonNullable<SessionResponse['user']>

export const sessionQuery = queryOptions({
  queryKey: SESSION_KEY,
  queryFn: ({ signal }) => request(SessionResponse, api.GET('/api/auth/session', { signal })),
  staleTime: 30_000,
})

/** Returns the cached user, or asks the server. */
export async function findUser(): Promise<SignedInUser | null> {
  const known = queryClient.getQueryData(sessionQuery.queryKey)?.user
  return known ?? (await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 })).user
}

export function register(body: RegisterRequest) {
  return withProof((proof) => request(RegisterResponse, api.POST('/api/register', { body: { ...body, proof } })))
}

export function setUp(body: SetupRequest) {
  return request(RegisterResponse, api.POST('/api/setup', { body }))
}

/** @throws ApiError `TWO_FACTOR_REQUIRED` when the password is right and `code` is missing. */
export async function signIn(body: LoginRequest): Promise<void> {
  await request(LoginResponse, api.POST('/api/auth/login', { body }))
  await startSession()
}

export async function bringSecondFactor(code: string): Promise<void> {
  await request(LoginResponse, api.POST('/api/auth/two-factor', { body: { code } }))
  await startSession()
}

/** Drops data cached for an earlier user and loads the signed-in one. */
export async function startSession(): Promise<void> {
  queryClient.clear()
  await queryClient.fetchQuery(sessionQuery)
}

/** The server answers the same whether the account exists or not. */
export function requestPasswordLink(body: ForgotPasswordRequest) {
  return withProof((proof) =>
    request(MessageResponse, api.POST('/api/auth/forgot-password', { body: { ...body, proof } })),
  )
}

export function resetPassword(body: ResetPasswordRequest) {
  return request(MessageResponse, api.POST('/api/auth/reset-password', { body }))
}

export function verifyEmail(token: string) {
  return request(MessageResponse, api.POST('/api/auth/verify-email', { body: { token } }))
}

/** Ends the session on the server; cached data stays until the page is left. */
export function signOut() {
  return request(z.object({ ok: z.literal(true) }), api.POST('/api/auth/signout'))
}

export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: ({ signal }) => request(ProvidersResponse, api.GET('/api/auth/providers', { signal })),
  staleTime: 5 * 60_000,
})
