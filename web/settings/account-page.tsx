import { useQuery } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { z } from 'zod'
import type { Settings } from '../../src/features/accounts/settings/schemas.ts'
import { DeleteAccountRequest } from '../../src/features/admin/personal-data/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { Form, secretFieldOf, useForm } from '../ui/form.tsx'
import { Loaded, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { OwnKeysSection } from './own-keys-section.tsx'
import { deleteAccount, EXPORT_PATH, referralsQuery } from './settings-api.ts'
import { SettingsFrame, WithSettings } from './settings-frame.tsx'

/** Page `/settings/account`. */
export function AccountPage() {
  return (
    <SettingsFrame title="Account" lead="Plan, data export and account deletion">
      <WithSettings>
        {(settings) => (
          <>
            <PlanSection settings={settings} />
            <OwnKeysSection />
            <ReferralSection />
            <ExportSection />
            <DeleteAccountSection settings={settings} />
          </>
        )}
      </WithSettings>
    </SettingsFrame>
  )
}

function PlanSection({ settings }: { settings: Settings }) {
  return (
    <Section title="Plan and credits">
      <dl className="flex flex-wrap gap-x-10 gap-y-3">
        <div>
          <dt className="text-sm text-muted">Plan</dt>
          <dd className="text-lg font-semibold capitalize">{settings.plan}</dd>
        </div>
        <div>
          <dt className="text-sm text-muted">Credits</dt>
          <dd className="text-lg font-semibold tabular-nums">{settings.credits.toLocaleString('en')}</dd>
        </div>
      </dl>
    </Section>
  )
}

function ReferralSection() {
  const query = useQuery(referralsQuery)
  return (
    <Section
      title="Refer a friend"
      lead="You and each person who signs up with your link get credits once they confirm their email or make a payment, for up to ten people per month."
    >
      <Loaded query={query} what="referral link" placeholder={<Skeleton className="h-9 max-w-md" />}>
        {(data) => (
          <>
            <div className="flex flex-wrap items-center gap-2">
              <code className="rounded-md bg-sunken px-2.5 py-1.5 font-mono text-[0.8125rem] break-all">
                {signupAddress(data.code)}
              </code>
              <CopyButton text={signupAddress(data.code)} what="referral link" />
            </div>
            <p className="text-sm text-muted">
              {data.referred === 0
                ? 'No sign-ups yet'
                : `${data.referred} signed up; you earned ${data.credits} credits.`}
            </p>
          </>
        )}
      </Loaded>
    </Section>
  )
}

function ExportSection() {
  return (
    <Section
      title="Your data"
      lead="A JSON file with all data stored about you. Passwords and keys are not included, because they are never stored in plain text."
    >
      <a href={EXPORT_PATH} download className={`${buttonClass('plain')} justify-self-start`}>
        <Download aria-hidden className="size-4" />
        Download my data
      </a>
    </Section>
  )
}

function signupAddress(code: string): string {
  return `${location.origin}/signup?ref=${encodeURIComponent(code)}`
}

export function DeleteAccountSection({ settings }: { settings: Settings }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <Section
      title="Delete account"
      tone="danger"
      lead="Permanently deletes your agents and their files, your API keys, conversations and settings. This cannot be undone."
    >
      {isAsking ? (
        <DeleteForm settings={settings} onCancel={() => setAsking(false)} />
      ) : (
        <Button className="justify-self-start text-bad" onClick={() => setAsking(true)}>
          Delete account
        </Button>
      )}
    </Section>
  )
}

function DeleteForm({ settings, onCancel }: { settings: Settings; onCancel: () => void }) {
  const confirmed = z.object({
    ...DeleteAccountRequest.shape,
    confirm: DeleteAccountRequest.shape.confirm.refine(
      (email) => email === settings.email,
      'Enter the email of your account.',
    ),
  })
  const form = useForm<DeleteAccountRequest>(
    confirmed,
    async (body) => {
      await deleteAccount(body)
      // A full page load drops all cached data.
      window.location.assign('/login?done=deleted')
    },
    fieldOf,
  )
  return (
    <Form form={form} className="grid max-w-md grid-cols-1 gap-4">
      <TextField label="Type your email to confirm" name="confirm" type="email" autoFocus hint={settings.email} />
      {settings.hasPassword && <PasswordField label="Password" name="password" autoComplete="current-password" />}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="danger" isPending={form.isPending}>
          Permanently delete account
        </Button>
        <Button look="ghost" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </Form>
  )
}

function fieldOf(error: unknown): string | null {
  const field = secretFieldOf('password')(error)
  return field ?? (error instanceof ApiError && /email/i.test(error.message) ? 'confirm' : null)
}
