import { queryOptions } from '@tanstack/react-query'
import {
  type MailRequest,
  type ProviderRequest,
  ProviderTest,
  Services,
} from '../../src/features/admin/services/schemas.ts'
import { DeletedPrice, ModelPrice, ModelPriceList, type PriceRequest } from '../../src/features/ai/prices/schemas.ts'
import { queryClient } from '../api/query-client.ts'
import { api, inPath, request, within } from '../api/request.ts'

/** Credentials are tested before they are saved, which can take long. */
const fetch = within(60_000)

export const servicesQuery = queryOptions({
  queryKey: ['admin', 'services'],
  queryFn: ({ signal }) => request(Services, api.GET('/api/admin/services', { signal })),
})

export function setProvider(id: string, body: ProviderRequest): Promise<void> {
  return change(api.PUT('/api/admin/services/providers/{id}', { ...inPath({ id }), body, fetch }))
}

export function testProvider(id: string, body: ProviderRequest): Promise<ProviderTest> {
  return request(ProviderTest, api.POST('/api/admin/services/providers/{id}/test', { ...inPath({ id }), body, fetch }))
}

export function forgetProvider(id: string): Promise<void> {
  return change(api.DELETE('/api/admin/services/providers/{id}', { ...inPath({ id }), fetch }))
}

export function setMail(body: MailRequest): Promise<void> {
  return change(api.PUT('/api/admin/services/mail', { body, fetch }))
}

export function forgetMail(): Promise<void> {
  return change(api.DELETE('/api/admin/services/mail', { fetch }))
}

/** Reloads everything, because the list of available models changes. */
async function change(answer: Parameters<typeof request>[1]): Promise<void> {
  const services = await request(Services, answer)
  queryClient.setQueryData(servicesQuery.queryKey, services)
  await queryClient.invalidateQueries()
}

export const pricesQuery = queryOptions({
  queryKey: ['admin', 'prices'],
  queryFn: ({ signal }) => request(ModelPriceList, api.GET('/api/admin/prices', { signal })),
})

export async function setPrice(model: string, body: PriceRequest): Promise<void> {
  await request(ModelPrice, api.PUT('/api/admin/prices/{model}', { ...inPath({ model }), body }))
  await queryClient.invalidateQueries()
}

export async function deletePrice(model: string): Promise<void> {
  await request(DeletedPrice, api.DELETE('/api/admin/prices/{model}', { ...inPath({ model }) }))
  await queryClient.invalidateQueries()
}
