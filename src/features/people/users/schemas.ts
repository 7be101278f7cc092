import { z } from 'zod'

const Email = z.email('Invalid email format').max(254, 'Invalid email format')

/** An address in the one form in which accounts are kept: NFKC, lower case, no space around it. */
const emailText = (missing: string) => z.string(missing).trim().normalize('NFKC').toLowerCase().min(1, missing)

/** A solved challenge of `GET /api/auth/challenge`: SHA-256 of `challenge:nonce` begins with that many zero bits. */
export const Proof = z.object({
  challenge: z.string('Invalid proof').max(256, 'Invalid proof'),
  nonce: z.union([z.string().max(64), z.number()], 'Invalid proof').transform(String),
})
export type Proof = z.infer<typeof Proof>

/** `GET /api/auth/challenge`: `difficulty` in bits, 0 when no proof is asked for; good until `expiresAt`, once. */
export const Challenge = z.object({ challenge: z.string(), difficulty: z.number(), expiresAt: z.string() })
export type Challenge = z.infer<typeof Challenge>

const ReferralCode = z
  .string('Invalid referral code')
  .trim()
  .regex(/^[A-Za-z0-9-]{0,20}$/, 'Invalid referral code')
  .toUpperCase()

/**
 * `POST /api/register` (Spec 4.2). `website` is the honeypot: people never see the field, so only programs fill it.
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
 * `POST /api/auth/login` (Spec 4.2). The password has no minimum here: an old short one must still be comparable.
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

/** `GET /api/auth/session` (Spec 4.2): `user` is null for everyone who is not signed in. */
export const SessionResponse = z.object({
  user: z.object({ id: z.string(), name: z.string(), email: z.string(), isAdmin: z.boolean() }).nullable(),
})
export type SessionResponse = z.infer<typeof SessionResponse>

/** `GET /api/auth/sessions`: one row per signed-in browser. `address` and `userAgent` are what it came with. */
export const SessionList = z.object({
  sessions: z.array(
    z.object({
      id: z.string(),
      current: z.boolean(),
      userAgent: z.string().nullable(),
      address: z.string().nullable(),
      createdAt: z.string(),
      lastSeen: z.string(),
      expiresAt: z.string(),
    }),
  ),
})
export type SessionList = z.infer<typeof SessionList>

/** `GET /api/settings/referrals`: the code to give away and what it has brought. */
export const ReferralsResponse = z.object({ code: z.string(), referred: z.number(), credits: z.number() })
export type ReferralsResponse = z.infer<typeof ReferralsResponse>

const CurrentPassword = z
  .string('Password must be text')
  .min(1, 'Password required')
  .max(1024, 'Password must be at most 1024 characters')
const TwoFactorCode = z.string('Code required').trim().min(1, 'Code required').max(64, 'Invalid two-factor code')

/** `POST /api/settings/two-factor/setup`: `password` is the current one, for accounts that have one. */
export const TwoFactorSetupRequest = z.object({ password: CurrentPassword.optional() })
export type TwoFactorSetupRequest = z.infer<typeof TwoFactorSetupRequest>

/** The secret for typing, and the `otpauth://` address of the QR code. */
export const TwoFactorSetup = z.object({ secret: z.string(), uri: z.string() })
export type TwoFactorSetup = z.infer<typeof TwoFactorSetup>

/** `POST /api/settings/two-factor/enable` and `…/recovery-codes`. */
export const TwoFactorCodeRequest = z.object({ code: TwoFactorCode })
export type TwoFactorCodeRequest = z.infer<typeof TwoFactorCodeRequest>

/** `POST /api/settings/two-factor/disable`. */
export const TwoFactorDisableRequest = z.object({ password: CurrentPassword.optional(), code: TwoFactorCode })
export type TwoFactorDisableRequest = z.infer<typeof TwoFactorDisableRequest>

/** Shown once; each signs in once in place of a code. */
export const RecoveryCodes = z.object({ recoveryCodes: z.array(z.string()) })
export type RecoveryCodes = z.infer<typeof RecoveryCodes>

/** `GET /api/settings/two-factor`. */
export const TwoFactorStatus = z.object({ enabled: z.boolean(), recoveryCodesLeft: z.number() })
export type TwoFactorStatus = z.infer<typeof TwoFactorStatus>

const MAX_NOTIFICATIONS = 32
const MAX_NOTIFICATIONS_BYTES = 4096

const Name = z.string('Name must be text').trim().max(100, 'Name must be at most 100 characters')
const NewPassword = (missing: string) =>
  z
    .string(missing)
    .min(1, missing)
    .min(8, 'Password must be at least 8 characters')
    .max(1024, 'Password must be at most 1024 characters')

/** What a person wants to be told of, by names that the dashboard chooses; small, because every settings page loads it. */
export const Notifications = z
  .record(z.string().min(1).max(64), z.json(), 'Invalid notifications')
  .refine((value) => Object.keys(value).length <= MAX_NOTIFICATIONS, 'Too many notification settings')
  .refine((value) => JSON.stringify(value).length <= MAX_NOTIFICATIONS_BYTES, 'Notification settings are too large')
export type Notifications = z.infer<typeof Notifications>

/**
 * `GET`, `POST` and `PATCH /api/settings` (Spec 4.2). `pendingEmail` waits for the link that was mailed to it, `storage` is
 * what all agents of the account take of the plan's room, in bytes.
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
  notifications: z.record(z.string(), z.json()),
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

/** `PATCH /api/settings`: the notification settings that are named here replace those of the same name. */
export const PatchSettingsRequest = z.object({ name: Name.optional(), notifications: Notifications.optional() })
export type PatchSettingsRequest = z.infer<typeof PatchSettingsRequest>

/** Deletes the account's API keys with the password: whoever knew the one may have made or read the others. */
const EndKeys = z.boolean('endKeys must be true or false').optional()

const BOTH_PASSWORDS = 'Current and new password required'

/** `POST /api/settings/password` (Spec 4.2). Accounts without a password have no current one to give. */
export const ChangePasswordRequest = z.object({
  currentPassword: z
    .string(BOTH_PASSWORDS)
    .max(1024, 'Password must be at most 1024 characters')
    .optional()
    .transform((text) => text || undefined),
  newPassword: NewPassword(BOTH_PASSWORDS),
  endKeys: EndKeys,
})
export type ChangePasswordRequest = z.infer<typeof ChangePasswordRequest>

/** The answer; `keysEnded` says how many, when that was asked for. */
export const PasswordChanged = z.object({ success: z.literal(true), keysEnded: z.number().optional() })
export type PasswordChanged = z.infer<typeof PasswordChanged>

/** `POST /api/auth/forgot-password` (Spec 4.2); `website` and `proof` as for `POST /api/register`. */
export const ForgotPasswordRequest = z.object({
  email: emailText('Email is required').pipe(Email),
  website: z.string().max(2048).optional(),
  proof: Proof.optional(),
})
export type ForgotPasswordRequest = z.infer<typeof ForgotPasswordRequest>

const TOKEN_AND_PASSWORD = 'Token and password are required'

/** `POST /api/auth/reset-password`: `token` is the one of the link. */
export const ResetPasswordRequest = z.object({
  token: z.string(TOKEN_AND_PASSWORD).min(1, TOKEN_AND_PASSWORD).max(512, 'Invalid or expired reset link'),
  password: NewPassword(TOKEN_AND_PASSWORD),
  endKeys: EndKeys,
})
export type ResetPasswordRequest = z.infer<typeof ResetPasswordRequest>

/** `POST /api/auth/verify-email`: `token` is the one of the link, of a first address or of a changed one. */
export const VerifyEmailRequest = z.object({
  token: z.string('Token is required').min(1, 'Token is required').max(512, 'Invalid or expired verification link'),
})
export type VerifyEmailRequest = z.infer<typeof VerifyEmailRequest>

/** Where links go that are meant to be mailed: without mail a developer finds them in the log. */
export const LinksGo = z.enum(['by-mail', 'to-log', 'nowhere'])
export type LinksGo = z.infer<typeof LinksGo>

/** What was done, in words. */
export const MessageResponse = z.object({ message: z.string() })
export type MessageResponse = z.infer<typeof MessageResponse>

/** `DELETE /api/settings/account`: `confirm` is the account's own address, typed in. */
export const DeleteAccountRequest = z.object({
  confirm: emailText('Type your email address to confirm').max(254, 'Type your email address to confirm'),
  password: CurrentPassword.optional(),
})
export type DeleteAccountRequest = z.infer<typeof DeleteAccountRequest>
