import { useState } from 'react'
import { z } from 'zod'
import type { Settings } from '../../src/features/accounts/accounts/schemas.ts'
import { DeleteAccountRequest } from '../../src/features/admin/personal-data/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { PasswordField, TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Section } from '../ui/section.tsx'
import { FormNotice, secretFieldOf } from './form-notice.tsx'
import { deleteAccount } from './settings-api.ts'

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
  const { formRef, problem, isPending, onSubmit } = useForm<DeleteAccountRequest>(
    confirmed,
    async (body) => {
      await deleteAccount(body)
      // A full page load drops all cached data.
      window.location.assign('/login?done=deleted')
    },
    fieldOf,
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid max-w-md grid-cols-1 gap-4">
      <FormNotice problem={problem} />
      <TextField
        label="Type your email to confirm"
        name="confirm"
        type="email"
        autoComplete="off"
        autoFocus
        hint={settings.email}
        error={problem?.fields.confirm}
      />
      {settings.hasPassword && (
        <PasswordField
          label="Password"
          name="password"
          autoComplete="current-password"
          error={problem?.fields.password}
        />
      )}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" look="danger" isPending={isPending}>
          Permanently delete account
        </Button>
        <Button look="ghost" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </form>
  )
}

function fieldOf(error: unknown): string | null {
  const field = secretFieldOf('password')(error)
  return field ?? (error instanceof ApiError && /email/i.test(error.message) ? 'confirm' : null)
}
