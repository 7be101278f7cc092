import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type SyntheticEvent, useState } from 'react'
import { GenerateVideoRequest, type OwnVideo } from '../../src/features/web-tools/video/schemas.ts'
import { LoadingRows } from '../admin/paging.tsx'
import { refresh } from '../api/query-client.ts'
import { ApiError, messageFor } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { SelectField, TextArea, TextField } from '../ui/field.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded, Notice, SlowAnswer } from '../ui/notice.tsx'
import { Empty, Section } from '../ui/panel.tsx'
import { isVideoUnderWay, orderVideo, videosQuery } from './media-api.ts'
import { MediaFrame, NotConfigured } from './media-frame.tsx'

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
      {obstacle && <NotConfigured what="Video">{obstacle}</NotConfigured>}
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
      {isVideoUnderWay(video) && (
        <div aria-hidden className="aspect-video w-full animate-breathe rounded-md bg-sunken" />
      )}
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

export type VideoType = 'demo' | 'marketing' | 'screenshot' | 'tutorial'
type VideoField = { name: string; label: string; look: 'line' | 'prose' | 'lines'; placeholder?: string }

export const VIDEO_TYPES: Record<VideoType, { label: string; fields: readonly VideoField[] }> = {
  demo: {
    label: 'Agent introduction',
    fields: [
      { name: 'agentName', label: 'Agent name', look: 'line' },
      { name: 'agentDescription', label: 'Description', look: 'prose' },
    ],
  },
  marketing: {
    label: 'Product ad',
    fields: [
      { name: 'productName', label: 'Product name', look: 'line' },
      { name: 'features', label: 'Features, one per line', look: 'lines' },
    ],
  },
  tutorial: {
    label: 'Explainer',
    fields: [
      { name: 'topic', label: 'Topic', look: 'line' },
      { name: 'steps', label: 'Steps, one per line', look: 'lines' },
    ],
  },
  screenshot: {
    label: 'Animated image',
    fields: [
      { name: 'imageUrl', label: 'Image URL', look: 'line', placeholder: 'https://…' },
      { name: 'description', label: 'Motion', look: 'prose' },
    ],
  },
}

type VideoFormProps = { type: VideoType; onType: (type: VideoType) => void; isDisabled: boolean }

/** Keeps the input of each type when switching between them. */
export function VideoForm({ type, onType, isDisabled }: VideoFormProps) {
  const [texts, setTexts] = useState<Record<string, string>>({})
  const [problems, setProblems] = useState<Record<string, string>>({})
  const order = useMutation({ mutationFn: orderVideo, onSettled: () => refresh(videosQuery) })
  const { fields } = VIDEO_TYPES[type]
  const submit = (event: SyntheticEvent) => {
    event.preventDefault()
    const values = fields.map(({ name, look }) => [name, readField(texts[name] ?? '', look)])
    const parsed = GenerateVideoRequest.safeParse({ type, ...Object.fromEntries(values) })
    const issues = parsed.success ? [] : parsed.error.issues
    setProblems(
      Object.fromEntries(
        issues.map(({ path, message }) => {
          const name = String(path[0])
          return [name, texts[name]?.trim() ? message : 'This field is required.']
        }),
      ),
    )
    if (parsed.success && !order.isPending) order.mutate(parsed.data)
  }
  return (
    <form onSubmit={submit} noValidate className="grid grid-cols-1 gap-4">
      <SelectField label="Type" value={type} onChange={({ target }) => onType(toVideoType(target.value))}>
        {Object.entries(VIDEO_TYPES).map(([value, { label }]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      {fields.map((field) => (
        <VideoTextField
          key={field.name}
          field={field}
          value={texts[field.name] ?? ''}
          error={problems[field.name]}
          onChange={(text) => setTexts({ ...texts, [field.name]: text })}
        />
      ))}
      <OrderProblem error={order.error} />
      {order.isSuccess && <Notice tone="good">Video requested. Follow its progress below.</Notice>}
      <Button
        type="submit"
        look="primary"
        className="justify-self-start"
        disabled={isDisabled}
        isPending={order.isPending}
      >
        Create video
      </Button>
    </form>
  )
}

type VideoTextFieldProps = {
  field: VideoField
  value: string
  error: string | undefined
  onChange: (text: string) => void
}

function VideoTextField({ field: { label, look, placeholder }, value, error, onChange }: VideoTextFieldProps) {
  if (look !== 'line') {
    return (
      <TextArea
        label={label}
        look="prose"
        rows={4}
        value={value}
        error={error}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )
  }
  return (
    <TextField
      label={label}
      value={value}
      placeholder={placeholder}
      error={error}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}

function OrderProblem({ error }: { error: Error | null }) {
  if (!error) return null
  return (
    <Notice tone="problem" title="Could not create the video">
      <p>{messageFor(error)}</p>
      {error instanceof ApiError && error.status === 402 && (
        <Link to="/billing" className="text-accent underline underline-offset-2">
          View plans
        </Link>
      )}
    </Notice>
  )
}

function readField(text: string, look: VideoField['look']): string | string[] {
  if (look !== 'lines') return text
  return text.split('\n').filter((line) => line.trim() !== '')
}

function toVideoType(value: string): VideoType {
  return value === 'marketing' || value === 'screenshot' || value === 'tutorial' ? value : 'demo'
}
