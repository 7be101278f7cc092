import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'

type ShowMoreProps = {
  what: string
  error: unknown
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => Promise<unknown>
}

/** The way to the next page of a list that grows downwards, and why it did not come. */
export function ShowMore({ what, error, hasNextPage, isFetchingNextPage, fetchNextPage }: ShowMoreProps) {
  return (
    <>
      {error !== null && <Notice tone="problem">{messageFor(error)}</Notice>}
      {hasNextPage && (
        <Button className="justify-self-center" isPending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more {what}
        </Button>
      )}
    </>
  )
}

/** Grey rows where a list will be. */
export function LoadingRows({ what }: { what: string }) {
  return (
    <LoadingShapes what={what} className="grid gap-px overflow-hidden rounded-xl border border-line bg-line">
      {['w-40', 'w-56', 'w-48', 'w-36'].map((width) => (
        <div key={width} className="grid gap-2 bg-surface px-4 py-4">
          <Skeleton className={`h-4 ${width}`} />
          <Skeleton className="h-3 w-28" />
        </div>
      ))}
    </LoadingShapes>
  )
}
