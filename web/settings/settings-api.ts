import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { MessageResponse } from '../../src/features/accounts/notifications/schemas.ts'
import { type ChangePasswordRequest, PasswordChanged } from '../../src/features/accounts/passwords/schemas.ts'
import { SessionList } from '../../src/features/accounts/sessions/schemas.ts'
import {
  type PatchSettingsRequest,
  Settings,
  type UpdateSettingsRequest,
} from '../../src/features/accounts/settings/schemas.ts'
import {
  RecoveryCodes,
  type TwoFactorDisableRequest,
  TwoFactorSetup,
  type TwoFactorSetupRequest,
  TwoFactorStatus,
} from '../../src/features/accounts/two-factor/schemas.ts'
import { ReferralsResponse } from '../../src/features/accounts/users/schemas.ts'
import type { DeleteAccountRequest } from '../../src/features/admin/personal-data/schemas.ts'
import { Billing, BillingDone } from '../../src/features/payments/billing/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { api, inPath, request, within } from '../api/request.ts'

const Success = z.object({ success: z.literal(true) })

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: ({ signal }) => request(Settings, api.GET('/api/settings', { signal })),
})

export const signInSessionsQuery = queryOptions({
  queryKey: ['settings', 'sessions'],
  queryFn: async ({ signal }) => (await request(SessionList, api.GET('/api/auth/sessions', { signal }))).sessions,
})

export const twoFactorQuery = queryOptions({
  queryKey: ['settings', 'two-factor'],
  queryFn: ({ signal }) => request(TwoFactorStatus, api.GET('/api/settings/two-factor', { signal })),
})

export const referralsQuery = queryOptions({
  queryKey: ['settings', 'referrals'],
  queryFn: ({ signal }) => request(ReferralsResponse, api.GET('/api/settings/referrals', { signal })),
})

export const billingQuery = queryOptions({
  queryKey: ['settings', 'billing'],
  queryFn: ({ signal }) => request(Billing, api.GET('/api/billing', { signal })),
})

export function enableOwnKey(body: { provider: string; apiKey: string }) {
  return request(BillingDone, api.POST('/api/billing', { body: { action: 'enable-byok', ...body } }))
}

export function disableOwnKeys() {
  return request(BillingDone, api.POST('/api/billing', { body: { action: 'disable-byok' } }))
}

export const EXPORT_PATH = '/api/settings/export'

/** With mail configured, a new address waits in `pendingEmail`; sending the present one cancels the change. */
export async function updateSettings(body: UpdateSettingsRequest): Promise<Settings> {
  return keep(await request(Settings, api.POST('/api/settings', { body })))
}

export async function patchSettings(body: PatchSettingsRequest): Promise<Settings> {
  return keep(await request(Settings, api.PATCH('/api/settings', { body })))
}

export function sendVerification() {
  return request(MessageResponse, api.POST('/api/auth/verify-email/send'))
}

/** Ends other sessions, and API keys if requested. */
export function changePassword(body: ChangePasswordRequest) {
  return request(PasswordChanged, api.POST('/api/settings/password', { body }))
}

/** Takes effect only after `enableTwoFactor` confirms a code. */
export function setUpTwoFactor(body: TwoFactorSetupRequest) {
  return request(TwoFactorSetup, api.POST('/api/settings/two-factor/setup', { body }))
}

/** Returns the recovery codes, which are shown only once. */
export async function enableTwoFactor(code: string): Promise<string[]> {
  return (await request(RecoveryCodes, api.POST('/api/settings/two-factor/enable', { body: { code } }))).recoveryCodes
}

export async function renewRecoveryCodes(code: string): Promise<string[]> {
  return (await request(RecoveryCodes, api.POST('/api/settings/two-factor/recovery-codes', { body: { code } })))
    .recoveryCodes
}

export function disableTwoFactor(body: TwoFactorDisableRequest) {
  return request(Success, api.POST('/api/settings/two-factor/disable', { body }))
}

export function endSession(id: string) {
  return request(Success, api.DELETE('/api/auth/sessions/{id}', inPath({ id })))
}

export function endOtherSessions() {
  return request(Success, api.DELETE('/api/auth/sessions'))
}

/** Agents are stopped first, which takes time. */
export function deleteAccount(body: DeleteAccountRequest) {
  return request(z.object({}), api.DELETE('/api/settings/account', { body, fetch: within(60_000) }))
}

/** The shell shows name and address too. */
async function keep(settings: Settings): Promise<Settings> {
  queryClient.setQueryData(settingsQuery.queryKey, settings)
  await refresh(sessionQuery)
  return settings
}
