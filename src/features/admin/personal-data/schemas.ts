import { z } from 'zod'
import { CurrentPassword, emailText } from '../../accounts/users/schemas.ts'

/** Request of `DELETE /api/settings/account`: `confirm` is the account's own address. */
export const DeleteAccountRequest = z.object({
  confirm: emailText('Type your email address to confirm').max(254, 'Type your email address to confirm'),
  password: CurrentPassword.optional(),
})
export type DeleteAccountRequest = z.infer<typeof DeleteAccountRequest>
