import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { Feed, FeedList } from '../../src/features/web-tools/feeds/schemas.ts'
import { LoadingRows } from '../admin/paging.tsx'
import { Badge } from '../ui/badge.tsx'
import { buttonClass } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded } from '../ui/notice.tsx'
import { Empty } from '../ui/panel.tsx'
import { feedQuery, feedsQuery } from './media-api.ts'
import { MediaFrame } from './media-frame.tsx'

const route = getRouteApi('/signed-in/media/feeds')
const EXAMPLE = `FEEDS='[{"id": "weather", "url": "https://api.example.com/weather.json"}]'`

/** Page `/media/feeds`. */
export function FeedsPage() {
  const query = useQuery(feedsQuery)
  const { feed, sample } = route.useSearch()
  return (
    <MediaFrame title="Feeds" lead="External data feeds for agents and programs, cached for five minutes.">
      <Loaded query={query} what="feeds" placeholder={<LoadingRows what="feeds" />}>
        {(feeds) => (feeds.length === 0 ? <NoFeeds /> : <Feeds feeds={feeds} />)}
      </Loaded>
      {feed && <Reading key={`${feed} ${sample}`} feed={feed} isSample={sample === '1'} />}
    </MediaFrame>
  )
}

function NoFeeds() {
  return (
    <Empty title="No feeds configured">
      <p>The administrator defines feeds in the FEEDS setting and restarts, for example:</p>
      <code className="max-w-full rounded-md bg-sunken px-3 py-2 text-left font-mono text-sm wrap-anywhere text-ink">
        {EXAMPLE}
      </code>
    </Empty>
  )
}

function Feeds({ feeds }: { feeds: FeedList['feeds'] }) {
  return (
    <ul aria-label="Feeds" className="divide-y divide-line rounded-xl border border-line bg-surface">
      {feeds.map((feed) => (
        <FeedRow key={feed.id} feed={feed} />
      ))}
    </ul>
  )
}

function FeedRow({ feed: { id, endpoint, preview } }: { feed: FeedList['feeds'][number] }) {
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-3 py-3 sm:px-4">
      <div className="grid min-w-0 flex-1 basis-52 grid-cols-1 gap-0.5">
        <p className="font-medium break-all">{id}</p>
        <p className="font-mono text-[0.8125rem] break-all text-muted">{endpoint}</p>
      </div>
      <span className="flex flex-wrap gap-2">
        <CopyButton text={endpoint} what={`URL of ${id}`} />
        {preview && (
          <Link to="/media/feeds" search={{ feed: id, sample: '1' }} className={buttonClass('plain')}>
            Preview
          </Link>
        )}
        <Link to="/media/feeds" search={{ feed: id }} className={buttonClass('plain')} aria-label={`Preview ${id}`}>
          Preview
        </Link>
      </span>
    </li>
  )
}

function Reading({ feed, isSample }: { feed: string; isSample: boolean }) {
  const query = useQuery(feedQuery(feed, isSample))
  return (
    <section className="grid grid-cols-1 gap-3">
      <h2 className="font-semibold">{isSample ? `Preview of ${feed}` : feed}</h2>
      <Loaded query={query} what="the feed" placeholder={<LoadingRows what="the feed" />}>
        {(data) => <Shown feed={data} />}
      </Loaded>
    </section>
  )
}

function Shown({ feed: { data, source, fetchedAt, stale } }: { feed: Feed }) {
  return (
    <>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-muted">
        <span className="break-all">From {source}</span>
        <span>
          fetched <Moment at={fetchedAt} as="minute" />
        </span>
        {stale && <Badge tone="warning">Stale: the source is failing</Badge>}
      </p>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="max-h-[32rem] overflow-auto rounded-xl border border-line bg-surface p-4 font-mono text-[0.8125rem] -outline-offset-2"
      >
        {JSON.stringify(data, null, 2)}
      </pre>
    </>
  )
}
