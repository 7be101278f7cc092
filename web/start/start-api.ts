import { queryOptions } from '@tanstack/react-query'
import { type DemoChatRequest, DemoModels, DemoReply } from '../../src/features/ai/demo/schemas.ts'
import { PlanList } from '../../src/features/payments/billing/schemas.ts'
import { api, request, within } from '../api/request.ts'

export const publicPlansQuery = queryOptions({
  queryKey: ['plans'],
  queryFn: ({ signal }) => request(PlanList, api.GET('/api/plans', { signal })),
  staleTime: 5 * 60_000,
})

/** No model is available when the demo is not configured. */
export const demoQuery = queryOptions({
  queryKey: ['demo'],
  queryFn: ({ signal }) => request(DemoModels, api.GET('/api/demo/chat', { signal })),
  staleTime: 5 * 60_000,
})

export function askDemo(
  body: Pick<DemoChatRequest, 'message' | 'model'> & { conversation: { role: 'user'; content: string }[] },
) {
  return request(DemoReply, api.POST('/api/demo/chat', { body, fetch: within(60_000) }))
}
