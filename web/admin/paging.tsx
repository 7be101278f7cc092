import { type ReactNode, useState } from 'react'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { ErrorNotice, Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'

type ShowMoreProps = {
  what: string
  error: unknown
  hasNextPage: boolean
  isFetchingNextPage: boolean
  fetchNextPage: () => Promise<unknown>
}

export function ShowMore({ what, error, hasNextPage, isFetchingNextPage, fetchNextPage }: ShowMoreProps) {
  return (
    <>
      <ErrorNotice error={error} />
      {hasNextPage && (
        <Button className="justify-self-center" isPending={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show more {what}
        </Button>
      )}
    </>
  )
}

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

type PagesProps<Page, Item> = {
  query: Omit<ShowMoreProps, 'what'> & { data: { pages: Page[] } | undefined; refetch: () => unknown }
  /** Plural noun for sentences and labels, such as “jobs”. */
  what: string
  itemsOf: (page: Page) => Item[]
  empty: ReactNode
  children: (item: Item) => ReactNode
}

export function Pages<Page, Item>({ query, what, itemsOf, empty, children }: PagesProps<Page, Item>) {
  return (
    <Loaded query={query} what={what} placeholder={<LoadingRows what={what} />}>
      {({ pages }) => {
        const items = pages.flatMap(itemsOf)
        if (items.length === 0) return empty
        return (
          <>
            <ul aria-label={toTitle(what)} className="divide-y divide-line rounded-xl border border-line bg-surface">
              {items.map(children)}
            </ul>
            <ShowMore what={what} {...query} />
          </>
        )
      }}
    </Loaded>
  )
}

function toTitle(what: string): string {
  return `${what.slice(0, 1).toUpperCase()}${what.slice(1)}`
}

type ForgetButtonProps = { title: string; lead: string; verb?: string; forget: () => Promise<void> }

export function ForgetButton({ title, lead, verb = 'Remove', forget }: ForgetButtonProps) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button look="ghost" onClick={() => setAsking(true)}>
        {verb}
      </Button>
      {isAsking && (
        <ConfirmDialog title={title} lead={lead} verb={verb} run={forget} onClose={() => setAsking(false)} />
      )}
    </>
  )
}
