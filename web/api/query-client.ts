import { MutationCache, QueryCache, QueryClient, type QueryKey } from '@tanstack/react-query'
import { noteAnswer } from '../shell/connection.ts'
import { ApiError } from './request.ts'

export const SESSION_KEY = ['session']

const onSuccess = () => noteAnswer(null)

/** The cache of everything loaded from the server. */
export const queryClient: QueryClient = new QueryClient({
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

/** Refetches `queries` and all queries whose key starts with theirs. Resolves when the visible ones are loaded. */
export async function refresh(...queries: { queryKey: QueryKey }[]): Promise<void> {
  await Promise.all(queries.map(({ queryKey }) => queryClient.invalidateQueries({ queryKey })))
}

/** Ends the known session; the shell then redirects to the sign-in page. */
export function forgetSession(): void {
  queryClient.setQueryData(SESSION_KEY, { user: null })
}

function onError(error: Error): void {
  if (error instanceof ApiError && error.status === 401) forgetSession()
  noteAnswer(error, () => queryClient.invalidateQueries())
}

function canHelpToRetry(count: number, error: Error): boolean {
  return count < 2 && error instanceof ApiError && (error.status === 0 || error.status >= 500)
}
