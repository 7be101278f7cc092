import type { ReactNode } from 'react'
import { LoadProblem } from './notice.tsx'
import { SlowAnswer } from './slow-answer.tsx'

type LoadedProps<T> = {
  query: { data: T | undefined; error: unknown; refetch: () => unknown }
  /** What it is called at the start of a sentence: “Your keys”. */
  what: string
  /** Stands in its place while it is loaded. */
  placeholder: ReactNode
  /** Around the words of a problem, in a panel that leaves no space of its own. */
  problemClassName?: string
  children: (data: T) => ReactNode
}

/** What a query brought; before that its place holder, or why it could not be loaded. What is there stays when asking again fails. */
export function Loaded<T>({ query, what, placeholder, problemClassName, children }: LoadedProps<T>) {
  if (query.data !== undefined) return children(query.data)
  if (!query.error) return <SlowAnswer onRetry={query.refetch}>{placeholder}</SlowAnswer>
  const problem = <LoadProblem what={what} error={query.error} onRetry={query.refetch} />
  return problemClassName ? <div className={problemClassName}>{problem}</div> : problem
}
