import { useMutation, useQuery } from '@tanstack/react-query'
import { Radio } from 'lucide-react'
import { useState } from 'react'
import type { z } from 'zod'
import {
  type CreatedStream,
  CreateStreamRequest,
  type LiveDj,
  type OwnStream,
} from '../../src/features/web-tools/radio/schemas.ts'
import { refresh } from '../api/query-client.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Notice } from '../ui/notice.tsx'
import { Empty, Section } from '../ui/panel.tsx'
import { createStream, deleteStream, liveQuery, ownStreamsQuery } from './media-api.ts'
import { MediaFrame, WhereSetUp } from './media-frame.tsx'

/** Page `/media/radio`. */
export function RadioPage() {
  const query = useQuery(liveQuery)
  return (
    <MediaFrame title="Radio" lead="Live streams from users of this server">
      <WhereSetUp query={query} feature="Radio" what="radio">
        {(djs) => (
          <>
            <Live djs={djs} />
            <OwnStreams />
          </>
        )}
      </WhereSetUp>
    </MediaFrame>
  )
}

function Live({ djs }: { djs: LiveDj[] }) {
  if (djs.length === 0) return <Empty title="No live streams">New streams appear within seconds.</Empty>
  return (
    <ul aria-label="Live now" className="divide-y divide-line rounded-xl border border-line bg-surface">
      {djs.map((dj) => (
        <li key={dj.id} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-3 py-3 sm:px-4">
          <Radio aria-hidden className="size-5 shrink-0 text-accent" />
          <WhoSends dj={dj} />
          <PlayerLink url={dj.embedUrl} />
        </li>
      ))}
    </ul>
  )
}

function WhoSends({ dj: { name, startedAt } }: { dj: LiveDj }) {
  return (
    <div className="grid min-w-0 flex-1 basis-40 grid-cols-1 gap-0.5">
      <p className="flex flex-wrap items-center gap-2.5 font-medium wrap-anywhere">
        {name} <Badge tone="good">Live</Badge>
      </p>
      {startedAt !== null && (
        <p className="text-sm text-muted">
          Since <Moment at={new Date(startedAt * 1000).toISOString()} as="minute" />
        </p>
      )}
    </div>
  )
}

function PlayerLink({ url }: { url: LiveDj['embedUrl'] }) {
  if (!url) return <span className="text-sm text-muted">No player available yet.</span>
  return (
    <a
      href={url}
      target="_blank"
      rel="noreferrer"
      title="Opens the provider’s player in a new tab"
      className={buttonClass('primary')}
    >
      Listen
    </a>
  )
}

function OwnStreams() {
  const query = useQuery(ownStreamsQuery)
  const [created, setCreated] = useState<z.infer<typeof CreatedStream> | null>(null)
  return (
    <Section title="Broadcast" lead="Holders of this server’s token can broadcast with OBS or any streaming software.">
      <NewStream onCreated={setCreated} />
      {created && <StreamKey created={created} />}
      <WhereSetUp query={query} feature="Radio" what="streams">
        {(streams) =>
          streams.length === 0 ? (
            <p className="text-sm text-muted">No streams yet</p>
          ) : (
            <ul aria-label="Streams" className="divide-y divide-line rounded-lg border border-line">
              {streams.map((stream) => (
                <StreamRow key={stream.id} stream={stream} />
              ))}
            </ul>
          )
        }
      </WhereSetUp>
    </Section>
  )
}

function NewStream({ onCreated }: { onCreated: (created: z.infer<typeof CreatedStream>) => void }) {
  const creation = useMutation({
    mutationFn: createStream,
    onSuccess: onCreated,
    onSettled: () => refresh(ownStreamsQuery),
  })
  const form = useForm(CreateStreamRequest, async (stream) => void (await creation.mutateAsync(stream)))
  return (
    <Form
      form={form}
      notice={
        form.problem?.form ? <ErrorNotice title="Could not create the stream" error={form.problem.cause} /> : undefined
      }
      verb="Create stream"
    >
      <div className="grid grid-cols-1 items-start gap-4 sm:grid-cols-2">
        <TextField
          label="Wallet"
          name="wallet"
          hint="A wallet you signed in with."
          placeholder="0x…"
          spellCheck={false}
        />
        <TextField label="Stream name" name="name" maxLength={100} />
      </div>
    </Form>
  )
}

function StreamKey({ created: { obsSettings } }: { created: z.infer<typeof CreatedStream> }) {
  const { server, streamKey, recommended } = obsSettings
  return (
    <Notice tone="good" title="In OBS, open Settings → Stream → Custom">
      <p>The key is shown only once. Anyone with it can broadcast as you.</p>
      <Copied name="Server" value={server} />
      <Copied name="Stream key" value={streamKey} />
      <p className="text-sm text-muted">
        Recommended: {recommended.encoder}, {recommended.audioBitrate}, {recommended.sampleRate}, {recommended.channels}
      </p>
    </Notice>
  )
}

function Copied({ name, value }: { name: string; value: string }) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <span className="w-24 text-sm text-muted">{name}</span>
      <code className="min-w-0 flex-1 basis-40 rounded-md bg-surface px-3 py-2 text-sm break-all">{value}</code>
      <CopyButton text={value} what={name.toLowerCase()} />
    </div>
  )
}

const STATES = {
  created: { tone: 'plain', word: 'Never used' },
  active: { tone: 'good', word: 'Live' },
  idle: { tone: 'plain', word: 'Offline' },
} as const

export function StreamRow({ stream }: { stream: OwnStream }) {
  const [isAsking, setAsking] = useState(false)
  const { tone, word } = STATES[stream.status]
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 p-3">
      <div className="grid min-w-0 flex-1 basis-40 grid-cols-1 gap-0.5">
        <p className="flex flex-wrap items-center gap-2.5 font-medium wrap-anywhere">
          {stream.name} <Badge tone={tone}>{word}</Badge>
        </p>
        <p className="flex flex-wrap gap-x-3 text-sm text-muted">
          <span>
            Created <Moment at={stream.createdAt} />
          </span>
          <Recording recording={stream.recording} />
        </p>
      </div>
      <span className="flex flex-wrap gap-2">
        {stream.embedUrl && (
          <a href={stream.embedUrl} target="_blank" rel="noreferrer" className={buttonClass('plain')}>
            Open player
          </a>
        )}
        <Button aria-label={`Delete ${stream.name}`} onClick={() => setAsking(true)}>
          Delete
        </Button>
      </span>
      {isAsking && <DeleteDialog stream={stream} onClose={() => setAsking(false)} />}
    </li>
  )
}

function Recording({ recording }: { recording: OwnStream['recording'] }) {
  if (!recording?.hlsUrl) return null
  const minutes = recording.seconds === null ? null : Math.max(1, Math.round(recording.seconds / 60))
  return (
    <a
      href={recording.hlsUrl}
      target="_blank"
      rel="noreferrer"
      className="text-accent underline underline-offset-2"
    >{`Last recording${minutes === null ? '' : `, ${minutes} min`}`}</a>
  )
}

function DeleteDialog({ stream: { id, name }, onClose }: { stream: OwnStream; onClose: () => void }) {
  return (
    <ConfirmDialog
      title={`Delete ${name}?`}
      lead="Its key stops working and listeners are disconnected."
      verb="Delete"
      run={async () => {
        await deleteStream(id)
        await refresh(ownStreamsQuery, liveQuery)
      }}
      onClose={onClose}
    />
  )
}
