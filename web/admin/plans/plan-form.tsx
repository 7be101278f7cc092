import { useQuery, useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import { AccountChange, type AdminUser } from '../../../src/features/admin/accounts/schemas.ts'
import { PlanOptions } from '../../plans/plan-options.tsx'
import { plansQuery } from '../../plans/plans-api.ts'
import { FormNotice } from '../../settings/form-notice.tsx'
import { FormButtons } from '../../ui/button.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { useForm } from '../../ui/form.ts'
import { changeUser } from '../admin-api.ts'

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
  const client = useQueryClient()
  const isLoaded = useQuery(plansQuery).isSuccess
  const { formRef, problem, isPending, onSubmit } = useForm(
    PlanWish,
    async ({ plan, credits }) => {
      // Sending a plan marks it as paid, so an unchanged plan is omitted.
      await changeUser(client, user.id, { credits, ...(plan !== user.plan && { plan }) })
      onClose()
    },
    () => null,
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-4 rounded-lg bg-sunken p-4">
      <FormNotice problem={problem} />
      <div className="grid max-w-md grid-cols-2 gap-4">
        <SelectField
          label="Plan"
          name="plan"
          // Remounts when the options load after the form opened.
          key={String(isLoaded)}
          defaultValue={user.plan}
          autoFocus
          hint="The plan is treated as paid."
          error={problem?.fields.plan}
        >
          <PlanOptions current={user.plan} />
        </SelectField>
        <TextField
          label="Credits"
          name="credits"
          inputMode="numeric"
          autoComplete="off"
          defaultValue={user.credits}
          error={problem?.fields.credits}
        />
      </div>
      <FormButtons verb="Save" isPending={isPending} onCancel={onClose} />
    </form>
  )
}
