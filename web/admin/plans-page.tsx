import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import {
  type AdminPlan,
  type AdminPlanList,
  PlanDefinition,
  PlanLimits,
} from '../../src/features/accounts/own-plans/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Loaded } from '../ui/notice.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { LoadingRows } from './paging.tsx'
import { changeUserPlan, createPlan, deletePlan, plansQuery, toPlanLabel } from './plan-options.tsx'

/** Page `/admin/plans`. */
export function PlansPage() {
  const query = useQuery(plansQuery)
  return (
    <AdminFrame title="Plans" lead="Limits of each plan. Changes apply immediately to every account with the plan.">
      <Loaded query={query} what="plans" placeholder={<LoadingRows what="plans" />}>
        {(list) => <Plans {...list} />}
      </Loaded>
    </AdminFrame>
  )
}

function Plans({ plans, defaultPlan }: AdminPlanList) {
  const [isCreating, setCreating] = useState(false)
  return (
    <>
      {isCreating ? (
        <PlanEditor onClose={() => setCreating(false)} />
      ) : (
        <Button look="primary" className="justify-self-start" onClick={() => setCreating(true)}>
          Create plan
        </Button>
      )}
      <ul aria-label="Plans" className="divide-y divide-line rounded-xl border border-line bg-surface">
        {plans.map((plan) => (
          <PlanRow key={plan.name} plan={plan} isDefault={plan.name === defaultPlan} />
        ))}
      </ul>
    </>
  )
}

type Mode = 'rest' | 'edit' | 'delete'

function PlanRow({ plan, isDefault }: { plan: AdminPlan; isDefault: boolean }) {
  const [mode, setMode] = useState<Mode>('rest')
  const rest = () => setMode('rest')
  return (
    <li className="grid grid-cols-1 gap-3 px-3 py-3 sm:px-4">
      <div className="flex flex-wrap items-center gap-3">
        <div className="grid min-w-0 flex-1 basis-60 grid-cols-1 gap-0.5">
          <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <span className="font-medium break-all">{toPlanLabel(plan.name)}</span>
            {isDefault && <Badge tone="good">Default</Badge>}
            {plan.source === 'interface' && <Badge>Built in</Badge>}
            {plan.source === 'file' && <Badge>From PLANS_FILE</Badge>}
          </p>
          <p className="text-sm text-muted">{listLimits(plan).join(' · ')}</p>
          <p className="text-sm text-muted">{plan.accounts === 1 ? '1 account' : `${plan.accounts} accounts`}</p>
        </div>
        {plan.source !== 'interface' && (
          <Button aria-label={`Edit ${plan.name}`} onClick={() => setMode('edit')}>
            Edit
          </Button>
        )}
        {plan.source === 'dashboard' && (
          <Button aria-label={`Delete ${plan.name}`} onClick={() => setMode('delete')}>
            Delete
          </Button>
        )}
      </div>
      {mode === 'edit' && <PlanEditor plan={plan} onClose={rest} />}
      {mode === 'delete' && <DeleteDialog name={plan.name} onClose={rest} />}
    </li>
  )
}

function listLimits(plan: AdminPlan): string[] {
  const limit = (value: number | null, unit: string) =>
    value === null ? `Unlimited ${unit}` : `${value.toLocaleString('en')} ${unit}`
  return [
    plan.models === null ? 'All models' : plan.models.join(', '),
    limit(plan.agents, plan.agents === 1 ? 'agent' : 'agents'),
    limit(plan.tokensPerMonth, 'tokens per month'),
    ...(plan.usdPerMonth === null ? [] : [`$${plan.usdPerMonth} of models per month`]),
    limit(plan.skills, 'skills'),
    limit(plan.messagesPerDay, 'agent messages per day'),
    `${plan.storageGb} GB of storage`,
  ]
}

function DeleteDialog({ name, onClose }: { name: string; onClose: () => void }) {
  return (
    <ConfirmDialog
      title={`Delete the plan ${name}?`}
      lead="Plans defined in PLANS_FILE are reset to the limits in the file. Other plans can be deleted once no account uses them."
      verb="Delete plan"
      run={() => deletePlan(name)}
      onClose={onClose}
    />
  )
}

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
  const form = useForm<PlanLimits & { name?: string }>(
    plan ? LimitFields : NewPlanFields,
    async ({ name, ...limits }) => {
      if (plan) await changeUserPlan(plan.name, limits)
      else await createPlan({ name: name ?? '', ...limits })
      onClose()
    },
  )
  return (
    <Form form={form} verb={plan ? 'Save' : 'Create plan'} onCancel={onClose}>
      {!plan && <TextField label="Name" name="name" autoFocus hint="Lower-case letters, digits and dashes." />}
      <TextField
        label="Models"
        name="models"
        autoFocus={plan !== undefined}
        defaultValue={plan?.models?.join(', ') ?? ''}
        hint="Comma-separated IDs, for example openai/gpt-4o-mini. Leave empty to allow all models."
      />
      <p className="text-sm text-muted">Leave a limit empty for unlimited.</p>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
        {FIELDS.map(({ name, label }) => (
          <TextField key={name} label={label} name={name} inputMode="decimal" defaultValue={plan?.[name] ?? ''} />
        ))}
        <TextField label="Storage in GB" name="storageGb" inputMode="decimal" defaultValue={plan?.storageGb ?? 100} />
      </div>
    </Form>
  )
}
