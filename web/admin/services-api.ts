import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { type MailRequest, Services } from '../../src/features/house/services/schemas.ts'
import { api, inPath, request, within } from '../api/request.ts'

/** A service is tried before its credentials are kept. */
const fetch = within(60_000)

/** Which services the house has credentials for, and who gave them. */
export const servicesQuery = queryOptions({
  queryKey: ['admin', 'services'],
  queryFn: ({ signal }) => request(Services, api.GET('/api/admin/services', { signal })),
})

export function setProviderKey(client: QueryClient, id: string, apiKey: string): Promise<void> {
  return change(client, api.PUT('/api/admin/services/providers/{id}', { ...inPath({ id }), body: { apiKey }, fetch }))
}

export function forgetProviderKey(client: QueryClient, id: string): Promise<void> {
  return change(client, api.DELETE('/api/admin/services/providers/{id}', { ...inPath({ id }), fetch }))
}

export function setMail(client: QueryClient, body: MailRequest): Promise<void> {
  return change(client, api.PUT('/api/admin/services/mail', { body, fetch }))
}

export function forgetMail(client: QueryClient): Promise<void> {
  return change(client, api.DELETE('/api/admin/services/mail', { fetch }))
}

/** Models that can be asked for are other ones afterwards, so everything is read anew. */
async function change(client: QueryClient, answer: Parameters<typeof request>[1]): Promise<void> {
  const services = await request(Services, answer)
  client.setQueryData(servicesQuery.queryKey, services)
  await client.invalidateQueries()
}
