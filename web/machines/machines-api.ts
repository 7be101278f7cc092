import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { BackendAddress, Installations } from '../../src/features/agents/installations/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

/** The caller's machines; asked again every half minute, because they come and go by themselves. */
export const machinesQuery = queryOptions({
  queryKey: ['machines'],
  queryFn: async ({ signal }) =>
    (await request(Installations, api.GET('/api/installations', { signal }))).installations,
  refetchInterval: 30_000,
})

/** Forgets a machine; one that still runs comes back when it registers again. */
export function forgetMachine(id: string) {
  return request(z.object({ success: z.literal(true) }), api.DELETE('/api/installations/{id}', inPath({ id })))
}

/** Where this server's backend is reached: on the host of this page, at the port that the server listens on. */
export const backendQuery = queryOptions({
  queryKey: ['backend-address'],
  queryFn: async ({ signal }) => {
    const { port } = await request(BackendAddress, api.GET('/api/installations/address', { signal }))
    return `http://${window.location.hostname}:${port}`
  },
  staleTime: Number.POSITIVE_INFINITY,
})
