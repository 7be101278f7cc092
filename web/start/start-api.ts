import { queryOptions } from '@tanstack/react-query'
import { type DemoChatRequest, DemoModels, DemoReply } from '../../src/features/ai/demo/schemas.ts'
import { PlanList } from '../../src/features/payments/billing/schemas.ts'
import { api, request, within } from '../api/request.ts'

/** What is sold here, and who may make an account. */
export const plansQuery = queryOptions({
  queryKey: ['plans'],
  queryFn: ({ signal }) => request(PlanList, api.GET('/api/plans', { signal })),
  staleTime: 5 * 60_000,
})

/** The models of the demo; none is available where the demo is not set up. */
export const demoQuery = queryOptions({
  queryKey: ['demo'],
  queryFn: ({ signal }) => request(DemoModels, api.GET('/api/demo/chat', { signal })),
  staleTime: 5 * 60_000,
})

/** Asks a model as a stranger. */
export function askDemo(
  body: Pick<DemoChatRequest, 'message' | 'model'> & { conversation: { role: 'user'; content: string }[] },
) {
  return request(DemoReply, api.POST('/api/demo/chat', { body, fetch: within(60_000) }))
}
