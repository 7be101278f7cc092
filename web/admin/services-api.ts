import { type QueryClient, queryOptions } from '@tanstack/react-query'
import {
  type MailRequest,
  type ProviderRequest,
  ProviderTest,
  Services,
} from '../../src/features/admin/services/schemas.ts'
import { DeletedPrice, ModelPrice, ModelPriceList, type PriceRequest } from '../../src/features/ai/prices/schemas.ts'
import { api, inPath, request, within } from '../api/request.ts'

/** Credentials are tested before they are saved, which can take long. */
const fetch = within(60_000)

export const servicesQuery = queryOptions({
  queryKey: ['admin', 'services'],
  queryFn: ({ signal }) => request(Services, api.GET('/api/admin/services', { signal })),
})

export function setProvider(client: QueryClient, id: string, body: ProviderRequest): Promise<void> {
  return change(client, api.PUT('/api/admin/services/providers/{id}', { ...inPath({ id }), body, fetch }))
}

export function testProvider(id: string, body: ProviderRequest): Promise<ProviderTest> {
  return request(ProviderTest, api.POST('/api/admin/services/providers/{id}/test', { ...inPath({ id }), body, fetch }))
}

export function forgetProvider(client: QueryClient, id: string): Promise<void> {
  return change(client, api.DELETE('/api/admin/services/providers/{id}', { ...inPath({ id }), fetch }))
}

export function setMail(client: QueryClient, body: MailRequest): Promise<void> {
  return change(client, api.PUT('/api/admin/services/mail', { body, fetch }))
}

export function forgetMail(client: QueryClient): Promise<void> {
  return change(client, api.DELETE('/api/admin/services/mail', { fetch }))
}

/** Reloads everything, because the list of available models changes. */
async function change(client: QueryClient, answer: Parameters<typeof request>[1]): Promise<void> {
  const services = await request(Services, answer)
  client.setQueryData(servicesQuery.queryKey, services)
  await client.invalidateQueries()
}

export const pricesQuery = queryOptions({
  queryKey: ['admin', 'prices'],
  queryFn: ({ signal }) => request(ModelPriceList, api.GET('/api/admin/prices', { signal })),
})

export async function setPrice(client: QueryClient, model: string, body: PriceRequest): Promise<void> {
  await request(ModelPrice, api.PUT('/api/admin/prices/{model}', { ...inPath({ model }), body }))
  await client.invalidateQueries()
}

export async function deletePrice(client: QueryClient, model: string): Promise<void> {
  await request(DeletedPrice, api.DELETE('/api/admin/prices/{model}', { ...inPath({ model }) }))
  await client.invalidateQueries()
}
