import { z } from 'zod'
import { isTimeZone } from '../../../core/time-zone.ts'
import { Proof } from '../bot-detection/schemas.ts'
import { CurrentPassword, Email, emailText } from '../users/schemas.ts'

const ReferralCode = z
  .string('Invalid referral code')
  .trim()
  .regex(/^[A-Za-z0-9-]{0,20}$/, 'Invalid referral code')
  .toUpperCase()

/**
 * `POST /api/register` (Interface 4.2). `website` is the honeypot: people never see the field, so only programs fill it.
 * `inviteCode` counts when sign-up is by invitation, `proof` when bots are kept out by proof of work.
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
 * `POST /api/auth/login` (Interface 4.2). The password has no minimum here: an old short one must still be comparable.
 * `code` is the six digits of the authenticator, or a recovery code, for accounts with two-factor sign-in.
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

/** `GET /api/auth/session` (Interface 4.2): `user` is null for everyone who is not signed in. */
export const SessionResponse = z.object({
  user: z.object({ id: z.string(), name: z.string(), email: z.string(), isAdmin: z.boolean() }).nullable(),
})
export type SessionResponse = z.infer<typeof SessionResponse>

const MAX_NOTIFICATIONS = 32

const MAX_NOTIFICATIONS_BYTES = 4096

const Name = z.string('Name must be text').trim().max(100, 'Name must be at most 100 characters')

/** What a person wants to be told of, by names that the dashboard chooses; small, because every settings page loads it. */
export const Notifications = z
  .record(z.string().min(1).max(64), z.unknown(), 'Invalid notifications')
  .refine((value) => Object.keys(value).length <= MAX_NOTIFICATIONS, 'Too many notification settings')
  .refine((value) => JSON.stringify(value).length <= MAX_NOTIFICATIONS_BYTES, 'Notification settings are too large')
export type Notifications = z.infer<typeof Notifications>

/**
 * `GET`, `POST` and `PATCH /api/settings` (Interface 4.2). `pendingEmail` waits for the link that was mailed to it, `storage` is
 * what all agents of the account take of the plan's space, in bytes. `timeZone` is null until a
 * browser has reported it.
 */
export const Settings = z.object({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  plan: z.string(),
  credits: z.number(),
  twoFactorEnabled: z.boolean(),
  emailVerified: z.boolean(),
  pendingEmail: z.string().nullable(),
  hasPassword: z.boolean(),
  notifications: z.record(z.string(), z.unknown()),
  timeZone: z.string().nullable(),
  storage: z.object({ used: z.number(), limit: z.number() }),
})
export type Settings = z.infer<typeof Settings>

/** `POST /api/settings`: an empty name is ignored. A new e-mail needs `currentPassword`, unless one has just signed in. */
export const UpdateSettingsRequest = z.object({
  name: Name.optional(),
  email: emailText('Invalid email format').pipe(Email).optional(),
  currentPassword: CurrentPassword.optional(),
})
export type UpdateSettingsRequest = z.infer<typeof UpdateSettingsRequest>

const BAD_TIME_ZONE = 'timeZone must be an IANA time zone such as Europe/Berlin'
const TimeZone = z.string(BAD_TIME_ZONE).max(64, BAD_TIME_ZONE).refine(isTimeZone, BAD_TIME_ZONE)

/** `PATCH /api/settings`: the notification settings that are named here replace those of the same name. */
export const PatchSettingsRequest = z
  .object({ name: Name.optional(), notifications: Notifications.optional(), timeZone: TimeZone.optional() })
  .meta({ examples: [{ notifications: { weeklyReport: true } }, { timeZone: 'Europe/Berlin' }] })
export type PatchSettingsRequest = z.infer<typeof PatchSettingsRequest>

/** `POST /api/auth/signout`. */
export const SignedOut = z.object({ ok: z.literal(true) })

/** `GET /api/auth/csrf`: `token` goes into the header that is named `header`, `signed` is what the cookie holds. */
export const CsrfToken = z.object({ token: z.string(), signed: z.string(), header: z.string() })
