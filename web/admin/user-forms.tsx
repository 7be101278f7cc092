import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import {
  AccountChange,
  type AdminUser,
  type CreatedUser,
  CreateUserRequest,
} from '../../src/features/admin/accounts/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice } from '../ui/notice.tsx'
import { changeUser, createUser } from './admin-api.ts'
import { DefaultPlanOption, PlanOptions, plansQuery } from './plan-options.tsx'

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
  const form = useForm(
    NewUserFields,
    async (fields) => {
      onCreated(await createUser(fields))
      onClose()
    },
    (error) => (error instanceof ApiError && error.status === 409 ? 'email' : null),
  )
  return (
    <Form form={form} verb="Create user" onCancel={onClose}>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
        <TextField label="Email" name="email" type="email" autoFocus />
        <TextField label="Name" name="name" />
        <SelectField label="Plan" name="plan" defaultValue="">
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
    </Form>
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

const PlanWish = z.object({
  plan: AccountChange.shape.plan,
  credits: z
    .string()
    .trim()
    .regex(/^\d+$/, 'Credits must be a whole number')
    .transform(Number)
    .pipe(AccountChange.shape.credits.unwrap()),
})

export function PlanForm({ user, onClose }: { user: AdminUser; onClose: () => void }) {
  const isLoaded = useQuery(plansQuery).isSuccess
  const form = useForm(PlanWish, async ({ plan, credits }) => {
    // Sending a plan marks it as paid, so an unchanged plan is omitted.
    await changeUser(user.id, { credits, ...(plan !== user.plan && { plan }) })
    onClose()
  })
  return (
    <Form form={form} verb="Save" onCancel={onClose}>
      <div className="grid max-w-md grid-cols-2 gap-4">
        <SelectField
          label="Plan"
          name="plan"
          // Remounts when the options load after the form opened.
          key={String(isLoaded)}
          defaultValue={user.plan}
          autoFocus
          hint="The plan is treated as paid."
        >
          <PlanOptions current={user.plan} />
        </SelectField>
        <TextField label="Credits" name="credits" inputMode="numeric" defaultValue={user.credits} />
      </div>
    </Form>
  )
}
