import { Button } from './button.tsx'
import { LoadProblem } from './notice.tsx'

type OlderPagesProps = {
  /** A loaded infinite query. */
  query: {
    data: unknown
    error: Error | null
    hasNextPage: boolean
    isFetchingNextPage: boolean
    fetchNextPage(): Promise<unknown>
  }
  what: string
}

/** Loads the next page below a table, or offers to retry. */
export function OlderPages({ query, what }: OlderPagesProps) {
  if (query.error) {
    return query.data ? (
      <div className="px-4 pb-4">
        <LoadProblem what={`earlier ${what}`} error={query.error} onRetry={() => query.fetchNextPage()} />
      </div>
    ) : null
  }
  if (!query.hasNextPage) return null
  return (
    <div className="border-t border-line px-4 py-2">
      <Button isPending={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        Older
      </Button>
    </div>
  )
}
