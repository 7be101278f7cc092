import type { ReactNode } from 'react'
import { LoadingRows } from '../admin/paging.tsx'
import { hasCode, messageFor } from '../api/request.ts'
import { Page } from '../shell/page.tsx'
import { Loaded, Notice } from '../ui/notice.tsx'
import { Tabs } from '../ui/tabs.tsx'

const places = [
  { to: '/media/feeds', label: 'Feeds' },
  { to: '/media/radio', label: 'Radio' },
  { to: '/media/video', label: 'Video' },
] as const

export function MediaFrame({ title, lead, children }: { title: string; lead: string; children: ReactNode }) {
  return (
    <Page title={title} lead={lead}>
      <div className="flex">
        <Tabs label="Media" places={places} />
      </div>
      {children}
    </Page>
  )
}

export function NotConfigured({ what, children }: { what: string; children: ReactNode }) {
  return (
    <Notice tone="note" title={`${what} is not configured`}>
      <p>{children}</p>
      <p>The administrator can configure it in the server settings. See Configuration in the documentation.</p>
    </Notice>
  )
}

type WhereSetUpProps<T> = {
  query: { data: T | undefined; error: unknown; refetch: () => unknown }
  /** Used in “Radio is not configured”. */
  feature: string
  what: string
  children: (data: T) => ReactNode
}

/** Shows a query's result, or what has to be configured first. */
export function WhereSetUp<T>({ query, feature, what, children }: WhereSetUpProps<T>) {
  if (hasCode(query.error, 'NOT_CONFIGURED')) {
    return <NotConfigured what={feature}>{messageFor(query.error)}</NotConfigured>
  }
  return (
    <Loaded query={query} what={what} placeholder={<LoadingRows what={what.toLowerCase()} />}>
      {children}
    </Loaded>
  )
}
