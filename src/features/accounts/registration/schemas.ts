import { z } from 'zod'
import { Proof } from '../bot-detection/schemas.ts'
import { Email, emailText } from '../users/schemas.ts'

const ReferralCode = z
  .string('Invalid referral code')
  .trim()
  .regex(/^[A-Za-z0-9-]{0,20}$/, 'Invalid referral code')
  .toUpperCase()

/**
 * `POST /api/register`. `website` is a hidden field that only bots fill in. `inviteCode` is required when sign-up is by
 * invitation, `proof` when a proof of work is.
 */
export const RegisterRequest = z.object({
  email: emailText('Email and password required').pipe(Email),
  password: z
    .string('Email and password required')
    .min(1, 'Email and password required')
    .min(8, 'Password must be at least 8 characters')
    .max(1024, 'Password must be at most 1024 characters'),
  name: z.string('Name must be text').trim().max(100, 'Name must be at most 100 characters').optional(),
  website: z.string().max(2048).optional(),
  referralCode: ReferralCode.optional(),
  inviteCode: z.string('Invalid invite code').max(64, 'Invalid invite code').optional(),
  proof: Proof.optional(),
})
export type RegisterRequest = z.infer<typeof RegisterRequest>

export const RegisterResponse = z.object({ id: z.string(), email: z.string(), name: z.string() })
export type RegisterResponse = z.infer<typeof RegisterResponse>

/**
 * `POST /api/auth/login`. No minimum length, so old short passwords still work. `code` is a code of the authenticator
 * or a recovery code, for accounts with two-factor sign-in.
 */
export const LoginRequest = z.object({
  email: emailText('Missing email or password').max(254, 'Invalid email format'),
  password: z
    .string('Missing email or password')
    .min(1, 'Missing email or password')
    .max(1024, 'Password must be at most 1024 characters'),
  code: z.string('Invalid two-factor code').max(64, 'Invalid two-factor code').optional(),
})
export type LoginRequest = z.infer<typeof LoginRequest>

export const LoginResponse = z.object({ ok: z.literal(true), user: z.object({ id: z.string(), name: z.string() }) })
export type LoginResponse = z.infer<typeof LoginResponse>

/** `GET /api/auth/session`: `user` is null without a session. */
export const SessionResponse = z.object({
  user: z.object({ id: z.string(), name: z.string(), email: z.string(), isAdmin: z.boolean() }).nullable(),
})
export type SessionResponse = z.infer<typeof SessionResponse>

/** `POST /api/auth/signout`. */
export const SignedOut = z.object({ ok: z.literal(true) })

/**
 * `GET /api/auth/csrf`: `header` is the value of the header `x-csrf-token`, made of `token` and its signature `signed`.
 */
export const CsrfToken = z.object({ token: z.string(), signed: z.string(), header: z.string() })

/** `POST /api/setup`: creates the first account with the token of the setup link. */
export const SetupRequest = RegisterRequest.pick({ email: true, password: true, name: true }).extend({
  token: z.string('This setup link is not complete').min(1, 'This setup link is not complete').max(512),
})
export type SetupRequest = z.infer<typeof SetupRequest>

/** `GET /api/setup`: whether the first account is missing. */
export const SetupResponse = z.object({ isNeeded: z.boolean() })
export type SetupResponse = z.infer<typeof SetupResponse>
