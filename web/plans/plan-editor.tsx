import { useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import { type AdminPlan, PlanDefinition, PlanLimits } from '../../src/features/accounts/own-plans/schemas.ts'
import { FormNotice } from '../settings/form-notice.tsx'
import { FormButtons } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { changePlan, createPlan } from './plans-api.ts'

/** An empty field means no limit. */
const orNull = (schema: z.ZodType<number | null, number | null>) =>
  z
    .string()
    .trim()
    .transform((text) => (text === '' ? null : Number(text)))
    .pipe(schema)

const { agents, skills, messagesPerDay, tokensPerMonth, usdPerMonth, storageGb, models } = PlanLimits.shape
const LimitFields = z.object({
  models: z
    .string()
    .transform((text) => {
      const ids = text.split(/[\s,]+/).filter(Boolean)
      return ids.length === 0 ? null : ids
    })
    .pipe(models.unwrap()),
  agents: orNull(agents.unwrap()),
  skills: orNull(skills.unwrap()),
  messagesPerDay: orNull(messagesPerDay.unwrap()),
  tokensPerMonth: orNull(tokensPerMonth.unwrap()),
  usdPerMonth: orNull(usdPerMonth.unwrap()),
  storageGb: z.string().trim().transform(Number).pipe(storageGb.unwrap()),
})
const NewPlanFields = LimitFields.extend({ name: PlanDefinition.shape.name })

const FIELDS = [
  { name: 'agents', label: 'Agents' },
  { name: 'tokensPerMonth', label: 'Tokens per month' },
  { name: 'usdPerMonth', label: 'Model spend per month (USD)' },
  { name: 'skills', label: 'Skills' },
  { name: 'messagesPerDay', label: 'Agent messages per day' },
] as const

export function PlanEditor({ plan, onClose }: { plan?: AdminPlan; onClose: () => void }) {
  const client = useQueryClient()
  const { formRef, problem, isPending, onSubmit } = useForm<PlanLimits & { name?: string }>(
    plan ? LimitFields : NewPlanFields,
    async ({ name, ...limits }) => {
      if (plan) await changePlan(client, plan.name, limits)
      else await createPlan(client, { name: name ?? '', ...limits })
      onClose()
    },
    () => null,
  )
  return (
    <form ref={formRef} onSubmit={onSubmit} noValidate className="grid grid-cols-1 gap-4 rounded-lg bg-sunken p-4">
      <FormNotice problem={problem} />
      {!plan && (
        <TextField
          label="Name"
          name="name"
          autoComplete="off"
          autoFocus
          hint="Lower-case letters, digits and dashes."
          error={problem?.fields.name}
        />
      )}
      <TextField
        label="Models"
        name="models"
        autoComplete="off"
        autoFocus={plan !== undefined}
        defaultValue={plan?.models?.join(', ') ?? ''}
        hint="Comma-separated IDs, for example openai/gpt-4o-mini. Leave empty to allow all models."
        error={problem?.fields.models}
      />
      <p className="text-sm text-muted">Leave a limit empty for unlimited.</p>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
        {FIELDS.map(({ name, label }) => (
          <TextField
            key={name}
            label={label}
            name={name}
            inputMode="decimal"
            autoComplete="off"
            defaultValue={plan?.[name] ?? ''}
            error={problem?.fields[name]}
          />
        ))}
        <TextField
          label="Storage in GB"
          name="storageGb"
          inputMode="decimal"
          autoComplete="off"
          defaultValue={plan?.storageGb ?? 100}
          error={problem?.fields.storageGb}
        />
      </div>
      <FormButtons verb={plan ? 'Save' : 'Create plan'} isPending={isPending} onCancel={onClose} />
    </form>
  )
}
