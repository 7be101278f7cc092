import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import {
  AdminPlanList,
  OnePlan,
  type PlanDefinition,
  type PlanLimits,
} from '../../src/features/accounts/own-plans/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

export const plansQuery = queryOptions({
  queryKey: ['admin', 'plans'],
  queryFn: ({ signal }) => request(AdminPlanList, api.GET('/api/admin/plans', { signal })),
})

export async function createPlan(client: QueryClient, body: PlanDefinition): Promise<void> {
  await request(OnePlan, api.POST('/api/admin/plans', { body }))
  await client.invalidateQueries({ queryKey: plansQuery.queryKey })
}

export async function changePlan(client: QueryClient, name: string, body: PlanLimits): Promise<void> {
  await request(OnePlan, api.PUT('/api/admin/plans/{name}', { ...inPath({ name }), body }))
  await client.invalidateQueries({ queryKey: plansQuery.queryKey })
}

export async function deletePlan(client: QueryClient, name: string): Promise<void> {
  await request(z.object({ success: z.literal(true) }), api.DELETE('/api/admin/plans/{name}', inPath({ name })))
  await client.invalidateQueries({ queryKey: plansQuery.queryKey })
}
