import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import { type CreatedUser, CreateUserRequest } from '../../src/features/admin/accounts/schemas.ts'
import { ApiError } from '../api/request.ts'
import { DefaultPlanOption, PlanOptions } from '../plans/plan-options.tsx'
import { FormNotice } from '../settings/form-notice.tsx'
import { Button, FormButtons } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Moment } from '../ui/moment.tsx'
import { Notice } from '../ui/notice.tsx'
import { createUser } from './admin-api.ts'

/** An empty plan is the default one; a checked box is `on` in form data and absent otherwise. */
const NewUserFields = CreateUserRequest.extend({
  plan: z.string().transform((plan) => plan || undefined),
  sendMail: z
    .literal('on')
    .optional()
    .transform((tick) => tick === 'on'),
})

export function NewUser() {
  const [isOpen, setOpen] = useState(false)
  const [created, setCreated] = useState<CreatedUser | null>(null)
  return (
    <>
      {created && <Created {...created} />}
      {isOpen ? (
        <NewUserForm onCreated={setCreated} onClose={() => setOpen(false)} />
      ) : (
        <Button look="primary" className="justify-self-start" onClick={() => setOpen(true)}>
          Create user
        </Button>
      )}
    </>
  )
}

type FormProps = { onCreated: (created: CreatedUser) => void; onClose: () => void }

function NewUserForm({ onCreated, onClose }: FormProps) {
  const client = useQueryClient()
  const { formRef, problem, isPending, onSubmit } = useForm(
    NewUserFields,
    async (fields) => {
      onCreated(await createUser(client, fields))
      onClose()
    },
    (error) => (error instanceof ApiError && error.status === 409 ? 'email' : null),
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-4 rounded-lg bg-sunken p-4">
      <FormNotice problem={problem} />
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
        <TextField label="Email" name="email" type="email" autoComplete="off" autoFocus error={problem?.fields.email} />
        <TextField label="Name" name="name" autoComplete="off" error={problem?.fields.name} />
        <SelectField label="Plan" name="plan" defaultValue="" error={problem?.fields.plan}>
          <DefaultPlanOption />
          <PlanOptions />
        </SelectField>
      </div>
      <CheckField
        label="Email a link to set the password"
        name="sendMail"
        defaultChecked
        hint="Without a mail server, the link is shown here for you to send."
      />
      <FormButtons verb="Create user" isPending={isPending} onCancel={onClose} />
    </form>
  )
}

function Created({ user: { email }, url, expiresAt }: CreatedUser) {
  if (url === null) {
    return (
      <Notice tone="good" title={`Account created for ${email}`}>
        We emailed a link to set the password. It expires <Moment at={expiresAt} as="minute" />.
      </Notice>
    )
  }
  return (
    <Notice tone="good" title={`Send this link to ${email}`}>
      <p>
        It sets the password, is shown only once, and expires <Moment at={expiresAt} as="minute" />.
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <code className="min-w-0 flex-1 basis-60 rounded-md bg-surface px-3 py-2 text-sm break-all">{url}</code>
        <CopyButton text={url} what="password link" />
      </div>
    </Notice>
  )
}
