import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import type { OwnVideo } from '../../src/features/web-tools/video/schemas.ts'
import { LoadingRows } from '../admin/paging.tsx'
import { Badge } from '../ui/badge.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Empty } from '../ui/empty.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { Section } from '../ui/section.tsx'
import { SlowAnswer } from '../ui/slow-answer.tsx'
import { isUnderWay, videosQuery } from './media-api.ts'
import { MediaFrame, NotSetUp } from './media-frame.tsx'
import { VideoForm } from './video-form.tsx'

const route = getRouteApi('/signed-in/media/video')

/** Page `/media/video`. */
export function VideoPage() {
  const query = useQuery(videosQuery)
  return (
    <MediaFrame title="Video" lead="Generate videos of a few seconds from text.">
      {query.data || query.error ? (
        <>
          <NewVideo obstacle={query.data?.obstacle ?? null} />
          <section className="grid grid-cols-1 gap-3">
            <h2 className="font-semibold">Videos</h2>
            <Loaded query={query} what="videos" placeholder={null}>
              {({ videos }) => <Videos videos={videos} />}
            </Loaded>
          </section>
        </>
      ) : (
        // The form waits too, because a notice above it may disable it.
        <SlowAnswer onRetry={query.refetch}>
          <LoadingRows what="videos" />
        </SlowAnswer>
      )}
    </MediaFrame>
  )
}

/** `obstacle` says why no video can be created. */
function NewVideo({ obstacle }: { obstacle: string | null }) {
  const { type = 'demo' } = route.useSearch()
  const navigate = useNavigate()
  return (
    <>
      {obstacle && <NotSetUp what="Video">{obstacle}</NotSetUp>}
      <Section
        title="New video"
        lead="Takes a few minutes and continues if you leave this page. Up to two at once; each counts as a model call."
      >
        <VideoForm
          type={type}
          isDisabled={obstacle !== null}
          onType={(next) =>
            void navigate({ to: '/media/video', search: next === 'demo' ? {} : { type: next }, replace: true })
          }
        />
      </Section>
    </>
  )
}

function Videos({ videos }: { videos: OwnVideo[] }) {
  if (videos.length === 0) return <Empty title="No videos yet">Your 50 newest videos are kept here.</Empty>
  return (
    <ul aria-label="Videos" className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
      {videos.map((video) => (
        <Video key={video.id} video={video} />
      ))}
    </ul>
  )
}

const STATES = {
  queued: { tone: 'plain', word: 'Queued' },
  processing: { tone: 'warning', word: 'Generating' },
  completed: { tone: 'good', word: 'Done' },
  failed: { tone: 'problem', word: 'Failed' },
} as const

function Video({ video }: { video: OwnVideo }) {
  const { prompt, status, error, url, createdAt } = video
  const { tone, word } = STATES[status]
  return (
    <li className="grid min-w-0 grid-cols-1 gap-3 rounded-xl border border-line bg-surface p-4">
      {status === 'completed' && (
        // biome-ignore lint/a11y/useMediaCaption: generated videos have no speech to caption
        <video controls preload="metadata" src={url} className="aspect-video w-full rounded-md bg-sunken" />
      )}
      {isUnderWay(video) && <div aria-hidden className="aspect-video w-full animate-breathe rounded-md bg-sunken" />}
      <p className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 text-sm text-muted">
        <Badge tone={tone}>{word}</Badge>
        <Moment at={createdAt} as="minute" />
      </p>
      <p className="line-clamp-3 text-sm wrap-anywhere">{prompt}</p>
      {error && <p className="text-sm wrap-anywhere text-bad">{error}</p>}
      {status === 'completed' && (
        <a href={url} download className={`${buttonClass('plain')} justify-self-start`}>
          Download
        </a>
      )}
    </li>
  )
}
