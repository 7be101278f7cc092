import { useQuery, useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import type { Settings } from '../../src/features/accounts/accounts/schemas.ts'
import { ChangePasswordRequest } from '../../src/features/accounts/passwords/schemas.ts'
import { ApiError } from '../api/request.ts'
import { keysQuery } from '../keys/keys-api.ts'
import { Button } from '../ui/button.tsx'
import { CheckField, PasswordField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { FormNotice } from './form-notice.tsx'
import { changePassword, settingsQuery } from './settings-api.ts'

/** A checked box is `on` in form data; an unchecked one is absent. */
const WithTick = ChangePasswordRequest.extend({
  endKeys: z
    .literal('on')
    .optional()
    .transform((tick) => tick === 'on'),
})
/** The server accepts an absent current password for accounts without one; an empty field is a mistake. */
const WithCurrent = WithTick.extend({ currentPassword: z.string().min(1).max(1024) })

export function PasswordSection({ settings }: { settings: Settings }) {
  const client = useQueryClient()
  const keys = useQuery(keysQuery).data?.length ?? 0
  const { formRef, problem, isPending, isDone, onSubmit } = useForm<ChangePasswordRequest>(
    settings.hasPassword ? WithCurrent : WithTick,
    async (change) => {
      await changePassword(change)
      formRef.current?.reset()
      await Promise.all([
        client.invalidateQueries({ queryKey: settingsQuery.queryKey }),
        client.invalidateQueries({ queryKey: keysQuery.queryKey }),
      ])
    },
    fieldOf,
  )
  return (
    <Section
      title="Password"
      lead={
        settings.hasPassword
          ? 'Changing the password ends all other sessions.'
          : 'This account has no password yet. Set one to sign in with your email.'
      }
    >
      <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-4">
        <FormNotice problem={problem} />
        {isDone && <Notice tone="good">Password changed. All other sessions are signed out.</Notice>}
        {/* Password managers store the new password under this name. */}
        <input type="text" name="username" autoComplete="username" value={settings.email} readOnly hidden />
        {settings.hasPassword && (
          <PasswordField
            label="Current password"
            name="currentPassword"
            autoComplete="current-password"
            error={problem?.fields.currentPassword}
          />
        )}
        <PasswordField
          label="New password"
          name="newPassword"
          autoComplete="new-password"
          hint="At least 8 characters."
          error={problem?.fields.newPassword}
        />
        {keys > 0 && (
          <CheckField
            label={keys === 1 ? 'Revoke my API key' : `Revoke my ${keys} API keys`}
            name="endKeys"
            hint="Recommended if someone else may know the password. Requests with revoked keys are rejected."
          />
        )}
        <Button type="submit" className="justify-self-start" isPending={isPending}>
          {settings.hasPassword ? 'Change password' : 'Set password'}
        </Button>
      </form>
    </Section>
  )
}

function fieldOf(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null
  if (/^current password/i.test(error.message)) return 'currentPassword'
  return /password/i.test(error.message) ? 'newPassword' : null
}
