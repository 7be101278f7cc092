import { useMutation, useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { type Settings, UpdateSettingsRequest } from '../../src/features/accounts/settings/schemas.ts'
import { providersQuery } from '../account/session.ts'
import { ApiError, messageFor } from '../api/request.ts'
import { listZones, ownZone } from '../schedule/zones.ts'
import { Button } from '../ui/button.tsx'
import { PasswordField, SelectField, TextField } from '../ui/field.tsx'
import { Form, secretFieldOf, useForm } from '../ui/form.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { patchSettings, sendVerification, updateSettings } from './settings-api.ts'
import { SettingsFrame, WithSettings } from './settings-frame.tsx'
import { StorageSection } from './storage-section.tsx'

const NameForm = z.object({ name: z.string().trim().min(1).max(100, 'Name must be at most 100 characters') })

/** Page `/settings`. */
export function ProfilePage() {
  return (
    <SettingsFrame title="Profile" lead="Your name and email on this server">
      <WithSettings>
        {(settings) => (
          <>
            <NameSection settings={settings} />
            <EmailSection settings={settings} />
            <TimeZoneSection settings={settings} />
            <StorageSection storage={settings.storage} />
          </>
        )}
      </WithSettings>
    </SettingsFrame>
  )
}

function NameSection({ settings }: { settings: Settings }) {
  const form = useForm(
    NameForm,
    async (change) => void (await patchSettings(change)),
    (error) => (error instanceof ApiError && error.status === 400 ? 'name' : null),
  )
  return (
    <Section title="Name">
      <Form form={form} verb="Save name" className="grid max-w-md grid-cols-1 gap-4">
        {form.isDone && <Notice tone="good">Name saved.</Notice>}
        <TextField
          label="Name"
          name="name"
          autoComplete="name"
          maxLength={100}
          defaultValue={settings.name}
          hint="Only you can see it."
        />
      </Form>
    </Section>
  )
}

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
  const form = useForm(
    EmailForm,
    async (change) => {
      await updateSettings(change)
      form.formRef.current?.reset()
    },
    fieldOf,
  )
  return (
    <Form form={form} verb="Change email" className="grid max-w-md grid-cols-1 gap-4">
      {form.isDone && !settings.pendingEmail && (
        <Notice tone="good">Your email address is now {settings.email}.</Notice>
      )}
      <TextField label="New email" name="email" type="email" autoComplete="email" />
      {settings.hasPassword && (
        <PasswordField label="Current password" name="currentPassword" autoComplete="current-password" />
      )}
    </Form>
  )
}

function PendingEmail({ email, pendingEmail }: { email: string; pendingEmail: string }) {
  const recall = useMutation({ mutationFn: () => updateSettings({ email }) })
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

const TimeZoneForm = z.object({ timeZone: z.string() })

export function TimeZoneSection({ settings }: { settings: Settings }) {
  const form = useForm(TimeZoneForm, async (change) => void (await patchSettings(change)))
  const current = settings.timeZone ?? ownZone()
  return (
    <Section title="Time zone" lead="Used for phrases such as “tomorrow at nine” and as the default for new schedules.">
      <Form form={form} verb="Save time zone" className="grid max-w-md grid-cols-1 gap-4">
        {form.isDone && <Notice tone="good">Time zone saved.</Notice>}
        <SelectField label="Time zone" name="timeZone" defaultValue={current}>
          {listZones(current).map((zone) => (
            <option key={zone} value={zone}>
              {zone}
            </option>
          ))}
        </SelectField>
      </Form>
    </Section>
  )
}
