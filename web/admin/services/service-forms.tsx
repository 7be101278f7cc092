import { useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { MailRequest, ProviderKeyRequest } from '../../../src/features/admin/services/schemas.ts'
import { hasCode } from '../../api/request.ts'
import { FormNotice } from '../../settings/form-notice.tsx'
import { FormButtons } from '../../ui/button.tsx'
import { PasswordField, TextField } from '../../ui/field.tsx'
import { type FormProblem, useForm } from '../../ui/form.ts'
import { setMail, setProvider } from './services-api.ts'

export function ProviderKeyForm({ id, name, onClose }: { id: string; name: string; onClose: () => void }) {
  const client = useQueryClient()
  const form = useForm(
    ProviderKeyRequest,
    async ({ apiKey }) => {
      await setProvider(client, id, { apiKey })
      onClose()
    },
    (error) => (hasCode(error, 'CREDENTIALS_REFUSED') ? 'apiKey' : null),
  )
  return (
    <ServiceForm {...form} verb="Test and save" onClose={onClose}>
      <PasswordField
        label={`${name} API key`}
        name="apiKey"
        autoComplete="off"
        autoFocus
        error={form.problem?.fields.apiKey}
      />
    </ServiceForm>
  )
}

export function MailForm({ from, onClose }: { from: string | null; onClose: () => void }) {
  const client = useQueryClient()
  const form = useForm(
    MailRequest,
    async (wish) => {
      await setMail(client, wish)
      onClose()
    },
    (error) => (hasCode(error, 'CREDENTIALS_REFUSED') ? 'smtpUrl' : null),
  )
  return (
    <ServiceForm {...form} verb="Test and save" onClose={onClose}>
      <PasswordField
        label="SMTP URL"
        name="smtpUrl"
        autoComplete="off"
        autoFocus
        hint="For example smtps://NAME:PASSWORD@mail.example.com. Stored encrypted."
        error={form.problem?.fields.smtpUrl}
      />
      <TextField
        label="Sender"
        name="from"
        autoComplete="off"
        defaultValue={from ?? ''}
        hint="For example Stead <stead@example.com>."
        error={form.problem?.fields.from}
      />
    </ServiceForm>
  )
}

type ServiceFormProps = Pick<ReturnType<typeof useForm>, 'formRef' | 'isPending' | 'onSubmit'> & {
  problem: FormProblem | null
  verb: string
  onClose: () => void
  children: ReactNode
}

function ServiceForm({ formRef, problem, isPending, onSubmit, verb, onClose, children }: ServiceFormProps) {
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-4 rounded-lg bg-sunken p-4">
      <FormNotice problem={problem} />
      <div className="grid max-w-md grid-cols-1 gap-4">{children}</div>
      <FormButtons verb={verb} isPending={isPending} onCancel={onClose} />
    </form>
  )
}
