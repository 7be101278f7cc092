import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { NoticeChannel } from '../../src/features/accounts/notices/schemas.ts'
import { messageFor } from '../api/request.ts'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice, Skeleton } from '../ui/notice.tsx'
import { deleteChannel, noticeChannelsQuery, testChannel } from './notices-api.ts'

export function ChannelList() {
  const query = useQuery(noticeChannelsQuery)
  return (
    <Loaded query={query} what="channels" placeholder={<Skeleton className="h-16" />}>
      {(channels) => {
        if (channels.length === 0) return <p className="text-sm text-muted">No channels besides email</p>
        return (
          <ul aria-label="Channels" className="divide-y divide-line rounded-lg border border-line">
            {channels.map((channel) => (
              <ChannelItem key={channel.id} channel={channel} />
            ))}
          </ul>
        )
      }}
    </Loaded>
  )
}

function ChannelItem({ channel }: { channel: NoticeChannel }) {
  const { id, kind, name, to, lastSentAt, lastError } = channel
  const [isAsking, setAsking] = useState(false)
  const trial = useMutation({ mutationFn: () => testChannel(id) })
  return (
    <li className="grid grid-cols-1 gap-2 p-3">
      <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <p className="flex min-w-0 flex-wrap items-center gap-x-2.5 gap-y-1 wrap-anywhere">
          <span className="font-medium capitalize">{name}</span>
          {name !== kind && <Badge>{kind}</Badge>}
          <span className="text-sm text-muted">{to}</span>
          {lastError && <Badge tone="problem">{lastError}</Badge>}
          {lastSentAt && (
            <span className="text-sm text-muted">
              last sent <Moment at={lastSentAt} as="distance" />
            </span>
          )}
        </p>
        <span className="flex gap-2">
          <Button aria-label={`Test ${name}`} isPending={trial.isPending} onClick={() => trial.mutate()}>
            Test
          </Button>
          <Button aria-label={`Remove ${name}`} onClick={() => setAsking(true)}>
            Remove
          </Button>
        </span>
      </div>
      {trial.data?.delivered && <Notice tone="good">Test message delivered.</Notice>}
      {trial.data?.delivered === false && <Notice tone="problem">Test failed: the channel {trial.data.error}.</Notice>}
      {trial.isError && <Notice tone="problem">{messageFor(trial.error)}</Notice>}
      {isAsking && <RemoveDialog channel={channel} onClose={() => setAsking(false)} />}
    </li>
  )
}

function RemoveDialog({ channel: { id, name }, onClose }: { channel: NoticeChannel; onClose: () => void }) {
  const client = useQueryClient()
  const removal = useMutation({
    mutationFn: () => deleteChannel(id),
    onSuccess: onClose,
    onSettled: () => client.invalidateQueries({ queryKey: noticeChannelsQuery.queryKey }),
  })
  return (
    <AskDialog
      title={`Remove ${name}?`}
      lead="The channel receives no more notifications, and its credentials are deleted."
      verb="Remove"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={() => removal.mutate()}
      onClose={onClose}
    />
  )
}
