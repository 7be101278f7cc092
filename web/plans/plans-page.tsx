import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AdminPlan, AdminPlanList } from '../../src/features/accounts/own-plans/schemas.ts'
import { AdminFrame } from '../admin/admin-frame.tsx'
import { LoadingRows } from '../admin/paging.tsx'
import { AskDialog, focusHeading } from '../ui/ask-dialog.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { PlanEditor } from './plan-editor.tsx'
import { toPlanLabel } from './plan-options.tsx'
import { deletePlan, plansQuery } from './plans-api.ts'

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
  const client = useQueryClient()
  const deletion = useMutation({ mutationFn: () => deletePlan(client, name), onSuccess: onClose })
  return (
    <AskDialog
      title={`Delete the plan ${name}?`}
      lead="Plans defined in PLANS_FILE are reset to the limits in the file. Other plans can be deleted once no account uses them."
      verb="Delete plan"
      isPending={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
      onCloseFocus={focusHeading}
    />
  )
}
