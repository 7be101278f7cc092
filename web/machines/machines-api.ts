import { queryOptions } from '@tanstack/react-query'
import { z } from 'zod'
import { BackendAddress, Installations, PairingCode } from '../../src/features/agents/installations/schemas.ts'
import { api, inPath, request } from '../api/request.ts'

/** Polls, because machines come and go. */
export const machinesQuery = queryOptions({
  queryKey: ['machines'],
  queryFn: async ({ signal }) =>
    (await request(Installations, api.GET('/api/installations', { signal }))).installations,
  refetchInterval: 30_000,
})

/** Creates a one-time code, which a machine exchanges for its credentials. */
export function createPairingCode() {
  return request(PairingCode, api.POST('/api/installations/pairing-codes'))
}

/** A machine with an API key that still runs reappears when it registers again. */
export function forgetMachine(id: string) {
  return request(z.object({ success: z.literal(true) }), api.DELETE('/api/installations/{id}', inPath({ id })))
}

/** The backend URL: the host of this page with the backend's port. */
export const backendQuery = queryOptions({
  queryKey: ['backend-address'],
  queryFn: async ({ signal }) => {
    const { port } = await request(BackendAddress, api.GET('/api/installations/address', { signal }))
    return `http://${window.location.hostname}:${port}`
  },
  staleTime: Number.POSITIVE_INFINITY,
})
