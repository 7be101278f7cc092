import { queryOptions, useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import {
  AdminPlanList,
  OnePlan,
  type PlanDefinition,
  type PlanLimits,
} from '../../src/features/accounts/own-plans/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'

/** Puts `free` first; `current` stays listed while plans load. */
export function PlanOptions({ current }: { current?: string }) {
  const plans = useQuery(plansQuery).data?.plans.map(({ name }) => name) ?? []
  const names = ['free', ...plans]
  const shown = current === undefined || names.includes(current) ? names : [...names, current]
  return shown.map((name) => (
    <option key={name} value={name}>
      {toPlanLabel(name)}
    </option>
  ))
}

/** Its value is ''; its label names the default plan once known. */
export function DefaultPlanOption() {
  const list = useQuery(plansQuery).data
  return <option value="">{list ? `Default (${toPlanLabel(list.defaultPlan ?? 'free')})` : 'Default'}</option>
}

/** `family` → `Family`; `free` means no plan. */
export function toPlanLabel(name: string): string {
  return name === 'free' ? 'No plan' : `${name.charAt(0).toUpperCase()}${name.slice(1)}`
}

export const plansQuery = queryOptions({
  queryKey: ['admin', 'plans'],
  queryFn: ({ signal }) => request(AdminPlanList, api.GET('/api/admin/plans', { signal })),
})

export async function createPlan(body: PlanDefinition): Promise<void> {
  await request(OnePlan, api.POST('/api/admin/plans', { body }))
  await refresh(plansQuery)
}

export async function changeUserPlan(name: string, body: PlanLimits): Promise<void> {
  await request(OnePlan, api.PUT('/api/admin/plans/{name}', { ...inPath({ name }), body }))
  await refresh(plansQuery)
}

export async function deletePlan(name: string): Promise<void> {
  await request(z.object({ success: z.literal(true) }), api.DELETE('/api/admin/plans/{name}', inPath({ name })))
  await refresh(plansQuery)
}
