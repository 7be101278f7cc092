import type { ReactNode } from 'react'
import { LoadProblem } from './notice.tsx'
import { SlowAnswer } from './slow-answer.tsx'

type LoadedProps<T> = {
  query: { data: T | undefined; error: unknown; refetch: () => unknown }
  /** Noun for “Could not load …”. */
  what: string
  placeholder: ReactNode
  /** For panels without padding of their own. */
  problemClassName?: string
  children: (data: T) => ReactNode
}

/** Shows a query's data, placeholder or error. Loaded data stays when a refetch fails. */
export function Loaded<T>({ query, what, placeholder, problemClassName, children }: LoadedProps<T>) {
  if (query.data !== undefined) return children(query.data)
  if (!query.error) return <SlowAnswer onRetry={query.refetch}>{placeholder}</SlowAnswer>
  const problem = <LoadProblem what={what} error={query.error} onRetry={query.refetch} />
  return problemClassName ? <div className={problemClassName}>{problem}</div> : problem
}
