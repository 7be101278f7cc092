import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { OwnStream } from '../../src/features/web-tools/radio/schemas.ts'
import { AskDialog, focusHeading } from '../ui/ask-dialog.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { deleteStream, liveQuery, ownStreamsQuery } from './media-api.ts'

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
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => deleteStream(id),
    onSuccess: onClose,
    onSettled: () =>
      Promise.all([ownStreamsQuery, liveQuery].map(({ queryKey }) => client.invalidateQueries({ queryKey }))),
  })
  return (
    <AskDialog
      title={`Delete ${name}?`}
      lead="Its key stops working and listeners are disconnected."
      verb="Delete"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate()}
      onClose={onClose}
      onCloseFocus={focusHeading}
    />
  )
}
