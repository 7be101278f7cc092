import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { forgetSession } from '../account/session.ts'
import { noteAnswer } from '../shell/connection.ts'
import { ApiError } from './request.ts'

/** A 401 response ends the known session, and the shell then redirects to the sign-in page. */
export function createQueryClient(): QueryClient {
  const onError = (error: Error) => {
    if (error instanceof ApiError && error.status === 401) forgetSession(client)
    noteAnswer(client, error)
  }
  const onSuccess = () => noteAnswer(client, null)
  const client: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError, onSuccess }),
    mutationCache: new MutationCache({ onError, onSuccess }),
    defaultOptions: {
      queries: {
        networkMode: 'always',
        staleTime: 2_000,
        retry: canHelpToRetry,
        retryDelay: (count) => 600 * 2 ** count,
      },
      mutations: { networkMode: 'always' },
    },
  })
  return client
}

function canHelpToRetry(count: number, error: Error): boolean {
  return count < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500)
}
