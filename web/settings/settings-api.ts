import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  type PatchSettingsRequest,
  Settings,
  type UpdateSettingsRequest,
} from '../../src/features/accounts/accounts/schemas.ts'
import { MessageResponse } from '../../src/features/accounts/mails/schemas.ts'
import { type ChangePasswordRequest, PasswordChanged } from '../../src/features/accounts/passwords/schemas.ts'
import { ReferralsResponse } from '../../src/features/accounts/referrals/schemas.ts'
import { SessionList } from '../../src/features/accounts/sessions/schemas.ts'
import {
  RecoveryCodes,
  type TwoFactorDisableRequest,
  TwoFactorSetup,
  type TwoFactorSetupRequest,
  TwoFactorStatus,
} from '../../src/features/accounts/two-factor/schemas.ts'
import type { DeleteAccountRequest } from '../../src/features/admin/personal-data/schemas.ts'
import { Billing, BillingDone } from '../../src/features/payments/billing/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { api, inPath, request, within } from '../api/request.ts'

const Success = z.object({ success: z.literal(true) })

/** The caller's account. */
export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: ({ signal }) => request(Settings, api.GET('/api/settings', { signal })),
})

/** Where the caller is signed in. */
export const sessionsQuery = queryOptions({
  queryKey: ['settings', 'sessions'],
  queryFn: async ({ signal }) => (await request(SessionList, api.GET('/api/auth/sessions', { signal }))).sessions,
})

/** How many recovery codes are left. */
export const twoFactorQuery = queryOptions({
  queryKey: ['settings', 'two-factor'],
  queryFn: ({ signal }) => request(TwoFactorStatus, api.GET('/api/settings/two-factor', { signal })),
})

/** The caller's referral code and what it has brought. */
export const referralsQuery = queryOptions({
  queryKey: ['settings', 'referrals'],
  queryFn: ({ signal }) => request(ReferralsResponse, api.GET('/api/settings/referrals', { signal })),
})

/** The providers that the caller has brought keys for. */
export const billingQuery = queryOptions({
  queryKey: ['settings', 'billing'],
  queryFn: ({ signal }) => request(Billing, api.GET('/api/billing', { signal })),
})

/** Uses the caller's own account at a provider from now on. */
export function enableOwnKey(body: { provider: string; apiKey: string }) {
  return request(BillingDone, api.POST('/api/billing', { body: { action: 'enable-byok', ...body } }))
}

/** Forgets the caller's keys at providers. */
export function disableOwnKeys() {
  return request(BillingDone, api.POST('/api/billing', { body: { action: 'disable-byok' } }))
}

/** Where the browser downloads everything the server holds about the caller. */
export const EXPORT_PATH = '/api/settings/export'

/** Changes the address; with mail it waits in `pendingEmail`, and the present one calls the change off. */
export async function updateSettings(client: QueryClient, body: UpdateSettingsRequest): Promise<Settings> {
  return keep(client, await request(Settings, api.POST('/api/settings', { body })))
}

/** Changes name or notifications. */
export async function patchSettings(client: QueryClient, body: PatchSettingsRequest): Promise<Settings> {
  return keep(client, await request(Settings, api.PATCH('/api/settings', { body })))
}

/** Asks for the link that proves the caller's address, once more. */
export function sendVerification() {
  return request(MessageResponse, api.POST('/api/auth/verify-email/send'))
}

/** Sets a new password; other browsers are signed out, and API keys end when that is asked for. */
export function changePassword(body: ChangePasswordRequest) {
  return request(PasswordChanged, api.POST('/api/settings/password', { body }))
}

/** Begins two-factor sign-in; it counts only once `enableTwoFactor` had a code. */
export function setUpTwoFactor(body: TwoFactorSetupRequest) {
  return request(TwoFactorSetup, api.POST('/api/settings/two-factor/setup', { body }))
}

/** Turns two-factor sign-in on and returns the recovery codes, this once. */
export async function enableTwoFactor(code: string): Promise<string[]> {
  return (await request(RecoveryCodes, api.POST('/api/settings/two-factor/enable', { body: { code } }))).recoveryCodes
}

/** Replaces the recovery codes. */
export async function renewRecoveryCodes(code: string): Promise<string[]> {
  return (await request(RecoveryCodes, api.POST('/api/settings/two-factor/recovery-codes', { body: { code } })))
    .recoveryCodes
}

/** Turns two-factor sign-in off. */
export function disableTwoFactor(body: TwoFactorDisableRequest) {
  return request(Success, api.POST('/api/settings/two-factor/disable', { body }))
}

/** Signs one browser out. */
export function endSession(id: string) {
  return request(Success, api.DELETE('/api/auth/sessions/{id}', inPath({ id })))
}

/** Signs every browser out but this one. */
export function endOtherSessions() {
  return request(Success, api.DELETE('/api/auth/sessions'))
}

/** Deletes the account with everything that belongs to it; agents have to be stopped, which takes its time. */
export function deleteAccount(body: DeleteAccountRequest) {
  return request(z.object({}), api.DELETE('/api/settings/account', { body, fetch: within(60_000) }))
}

/** Name and address stand in the shell as well. */
async function keep(client: QueryClient, settings: Settings): Promise<Settings> {
  client.setQueryData(settingsQuery.queryKey, settings)
  await client.invalidateQueries({ queryKey: sessionQuery.queryKey })
  return settings
}
