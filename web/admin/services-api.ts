import { type QueryClient, queryOptions } from '@tanstack/react-query'
import { type MailRequest, Services } from '../../src/features/house/services/schemas.ts'
import { request } from '../api/request.ts'

const PATH = '/api/admin/services'
const MAIL_PATH = `${PATH}/mail`
/** A service is tried before its credentials are kept. */
const TRIAL_MS = 60_000

/** Which services the house has credentials for, and who gave them. */
export const servicesQuery = queryOptions({
  queryKey: ['admin', 'services'],
  queryFn: ({ signal }) => request(Services, PATH, { signal }),
})

export function setProviderKey(client: QueryClient, id: string, apiKey: string): Promise<void> {
  return change(client, providerPath(id), { method: 'PUT', body: { apiKey } })
}

export function forgetProviderKey(client: QueryClient, id: string): Promise<void> {
  return change(client, providerPath(id), { method: 'DELETE' })
}

export function setMail(client: QueryClient, body: MailRequest): Promise<void> {
  return change(client, MAIL_PATH, { method: 'PUT', body })
}

export function forgetMail(client: QueryClient): Promise<void> {
  return change(client, MAIL_PATH, { method: 'DELETE' })
}

/** Models that can be asked for are other ones afterwards, so everything is read anew. */
async function change(
  client: QueryClient,
  path: string,
  options: { method: 'PUT' | 'DELETE'; body?: unknown },
): Promise<void> {
  const services = await request(Services, path, { ...options, timeoutMs: TRIAL_MS })
  client.setQueryData(servicesQuery.queryKey, services)
  await client.invalidateQueries()
}

function providerPath(id: string): string {
  return `${PATH}/providers/${encodeURIComponent(id)}`
}
