import { z } from 'zod'
import { CurrentPassword } from '../users/schemas.ts'

const TwoFactorCode = z.string('Code required').trim().min(1, 'Code required').max(64, 'Invalid two-factor code')

/** `POST /api/settings/two-factor/setup`: `password` is required for accounts that have one. */
export const TwoFactorSetupRequest = z.object({ password: CurrentPassword.optional() })
export type TwoFactorSetupRequest = z.infer<typeof TwoFactorSetupRequest>

/** The secret as text and as the `otpauth://` URI of the QR code. */
export const TwoFactorSetup = z.object({ secret: z.string(), uri: z.string() })
export type TwoFactorSetup = z.infer<typeof TwoFactorSetup>

/** `POST /api/settings/two-factor/enable` and `…/recovery-codes`. */
export const TwoFactorCodeRequest = z.object({ code: TwoFactorCode })
export type TwoFactorCodeRequest = z.infer<typeof TwoFactorCodeRequest>

/** `POST /api/settings/two-factor/disable`. */
export const TwoFactorDisableRequest = z.object({ password: CurrentPassword.optional(), code: TwoFactorCode })
export type TwoFactorDisableRequest = z.infer<typeof TwoFactorDisableRequest>

/** Returned only once; each code works once. */
export const RecoveryCodes = z.object({ recoveryCodes: z.array(z.string()) })
export type RecoveryCodes = z.infer<typeof RecoveryCodes>

/** `GET /api/settings/two-factor`. */
export const TwoFactorStatus = z.object({ enabled: z.boolean(), recoveryCodesLeft: z.number() })
export type TwoFactorStatus = z.infer<typeof TwoFactorStatus>
