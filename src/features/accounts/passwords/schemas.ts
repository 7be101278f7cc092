import { z } from 'zod'
import { Proof } from '../bot-detection/schemas.ts'
import { MessageResponse } from '../notifications/schemas.ts'
import { Email, emailText } from '../users/schemas.ts'

const NewPassword = (missing: string) =>
  z
    .string(missing)
    .min(1, missing)
    .min(8, 'Password must be at least 8 characters')
    .max(1024, 'Password must be at most 1024 characters')

/** Deletes the account's API keys too, since a password thief may have created or read them. */
const EndKeys = z.boolean('endKeys must be true or false').optional()

const BOTH_PASSWORDS = 'Current and new password required'

/** `POST /api/settings/password`. Accounts without a password omit `currentPassword`. */
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

/** `keysEnded` is the number of deleted keys, if requested. */
export const PasswordChanged = z.object({ success: z.literal(true), keysEnded: z.number().optional() })
export type PasswordChanged = z.infer<typeof PasswordChanged>

/** `POST /api/auth/forgot-password`; `website` and `proof` as for `POST /api/register`. */
export const ForgotPasswordRequest = z.object({
  email: emailText('Email is required').pipe(Email),
  website: z.string().max(2048).optional(),
  proof: Proof.optional(),
})
export type ForgotPasswordRequest = z.infer<typeof ForgotPasswordRequest>

const TOKEN_AND_PASSWORD = 'Token and password are required'

/** `POST /api/auth/reset-password`: `token` is from the mailed link. */
export const ResetPasswordRequest = z.object({
  token: z.string(TOKEN_AND_PASSWORD).min(1, TOKEN_AND_PASSWORD).max(512, 'Invalid or expired reset link'),
  password: NewPassword(TOKEN_AND_PASSWORD),
  endKeys: EndKeys,
})
export type ResetPasswordRequest = z.infer<typeof ResetPasswordRequest>

/** `POST /api/auth/reset-password`; `keysEnded` as in `PasswordChanged`. */
export const PasswordReset = MessageResponse.extend({ keysEnded: z.number().optional() })

/** `POST /api/auth/verify-email`: `token` is from the mailed link. */
export const VerifyEmailRequest = z.object({
  token: z.string('Token is required').min(1, 'Token is required').max(512, 'Invalid or expired verification link'),
})
export type VerifyEmailRequest = z.infer<typeof VerifyEmailRequest>
