import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import { type Settings, UpdateSettingsRequest } from '../../src/features/accounts/accounts/schemas.ts'
import { providersQuery } from '../account/providers.ts'
import { ApiError, messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { FormNotice, secretFieldOf } from './form-notice.tsx'
import { sendVerification, updateSettings } from './settings-api.ts'

const EmailForm = z.object({
  email: UpdateSettingsRequest.shape.email.unwrap(),
  currentPassword: UpdateSettingsRequest.shape.currentPassword,
})

export function EmailSection({ settings }: { settings: Settings }) {
  return (
    <Section title="Email" lead={`${settings.hasPassword ? 'You sign in as' : 'Your email is'} ${settings.email}.`}>
      {settings.pendingEmail ? (
        <PendingEmail email={settings.email} pendingEmail={settings.pendingEmail} />
      ) : (
        // Wallet accounts have a placeholder address that cannot receive mail.
        settings.hasPassword && !settings.emailVerified && <Unverified />
      )}
      <EmailChange settings={settings} />
    </Section>
  )
}

function EmailChange({ settings }: { settings: Settings }) {
  const client = useQueryClient()
  const { formRef, problem, isPending, isDone, onSubmit } = useForm(
    EmailForm,
    async (change) => {
      await updateSettings(client, change)
      formRef.current?.reset()
    },
    fieldOf,
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-4">
      <FormNotice problem={problem} />
      {isDone && !settings.pendingEmail && <Notice tone="good">Your email address is now {settings.email}.</Notice>}
      <TextField label="New email" name="email" type="email" autoComplete="email" error={problem?.fields.email} />
      {settings.hasPassword && (
        <PasswordField
          label="Current password"
          name="currentPassword"
          autoComplete="current-password"
          error={problem?.fields.currentPassword}
        />
      )}
      <Button type="submit" className="justify-self-start" isPending={isPending}>
        Change email
      </Button>
    </form>
  )
}

function PendingEmail({ email, pendingEmail }: { email: string; pendingEmail: string }) {
  const client = useQueryClient()
  const recall = useMutation({ mutationFn: () => updateSettings(client, { email }) })
  return (
    <Notice tone="note" title={`Confirm ${pendingEmail}`}>
      <p>Open the link we sent to that address. Until then you sign in as {email}.</p>
      {recall.isError && <p className="text-bad">{messageFor(recall.error)}</p>}
      <Button className="justify-self-start" isPending={recall.isPending} onClick={() => recall.mutate()}>
        Cancel change
      </Button>
    </Notice>
  )
}

function Unverified() {
  const links = useQuery(providersQuery).data?.links
  const sending = useMutation({ mutationFn: sendVerification })
  // Without a way to deliver the link, confirmation is impossible.
  if (links === undefined || links === 'nowhere') return null
  return (
    <Notice tone="warning" title="Email not confirmed">
      {sending.isSuccess ? (
        <p>{sending.data.message}</p>
      ) : (
        <>
          <p>
            {links === 'by-mail'
              ? 'We email you a confirmation link.'
              : 'This server sends no email. The confirmation link is written to the server log for the administrator.'}
          </p>
          {sending.isError && <p className="text-bad">{messageFor(sending.error)}</p>}
          <Button className="justify-self-start" isPending={sending.isPending} onClick={() => sending.mutate()}>
            {links === 'by-mail' ? 'Send link' : 'Create link'}
          </Button>
        </>
      )}
    </Notice>
  )
}

function fieldOf(error: unknown): string | null {
  const field = secretFieldOf('currentPassword')(error)
  return field ?? (error instanceof ApiError && /email/i.test(error.message) ? 'email' : null)
}
