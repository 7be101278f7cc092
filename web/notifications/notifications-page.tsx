import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import {
  CreateChannelRequest,
  type NoticeChannel,
  type Notice as NoticeOfAgent,
} from '../../src/features/accounts/notifications/schemas.ts'
import { LoadingRows, ShowMore } from '../admin/paging.tsx'
import { queryClient, refresh } from '../api/query-client.ts'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { PasswordField, SelectField, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { describeDeliveries } from './descriptions.ts'
import {
  createChannel,
  deleteChannel,
  noticeChannelsQuery,
  notificationsQuery,
  pauseQuery,
  setPause,
  testChannel,
} from './notifications-api.ts'
import { PreferencesSection } from './preferences-section.tsx'

/** Page `/settings/notices`. */
export function NotificationsPage() {
  return (
    <SettingsFrame title="Notifications" lead="Choose how you are notified when an agent needs attention.">
      <Section title="Channels" lead="Each channel is tested before it is added. Email goes to your account address.">
        <ChannelList />
        <ChannelForm />
      </Section>
      <PreferencesSection />
      <PauseSection />
      <HistorySection />
    </SettingsFrame>
  )
}

/** Pauses all agents of the account. */
function PauseSection() {
  const { data } = useQuery(pauseQuery)
  const change = useMutation({
    mutationFn: setPause,
    onSuccess: (state) => queryClient.setQueryData(pauseQuery.queryKey, state),
  })
  return (
    <Section
      title="Pause all agents"
      badge={data?.pause && <Badge tone="warning">Paused</Badge>}
      lead="Model calls of all your agents are rejected until you resume. Agents keep running and keep their data."
      tone="danger"
    >
      <ErrorNotice error={change.error} />
      <Button
        className="justify-self-start"
        disabled={!data}
        isPending={change.isPending}
        onClick={() => change.mutate(data?.pause === null)}
      >
        {data?.pause ? 'Resume all' : 'Pause all'}
      </Button>
    </Section>
  )
}

function HistorySection() {
  const query = useInfiniteQuery(notificationsQuery)
  const notices = query.data?.pages.flatMap((page) => page.notices)
  return (
    <Section title="Recent notifications" lead="The last 90 days.">
      {!notices && query.error && <LoadProblem what="notifications" error={query.error} onRetry={query.refetch} />}
      {!notices && !query.error && <LoadingRows what="notifications" />}
      {notices?.length === 0 && <p className="text-sm text-muted">No notifications yet</p>}
      {notices && notices.length > 0 && <History notices={notices} />}
      {notices && <ShowMore what="notifications" {...query} />}
    </Section>
  )
}

function History({ notices }: { notices: NoticeOfAgent[] }) {
  const channels = useQuery(noticeChannelsQuery).data ?? []
  return (
    <ul aria-label="Recent notifications" className="divide-y divide-line rounded-lg border border-line">
      {notices.map((notice) => (
        <li key={notice.id} className="grid grid-cols-1 gap-1 p-3 wrap-anywhere">
          <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <span className="font-medium">{notice.title}</span>
            <span className="text-sm text-muted">
              <Moment at={notice.createdAt} as="minute" />
            </span>
          </p>
          <p className="text-sm">{notice.text}</p>
          <p className="text-sm text-muted">{describeDeliveries(notice, channels)}</p>
        </li>
      ))}
    </ul>
  )
}

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
      <ErrorNotice error={trial.error} />
      {isAsking && <RemoveDialog channel={channel} onClose={() => setAsking(false)} />}
    </li>
  )
}

function RemoveDialog({ channel: { id, name }, onClose }: { channel: NoticeChannel; onClose: () => void }) {
  return (
    <ConfirmDialog
      title={`Remove ${name}?`}
      lead="The channel receives no more notifications, and its credentials are deleted."
      verb="Remove"
      run={async () => {
        await deleteChannel(id)
        await refresh(noticeChannelsQuery)
      }}
      onClose={onClose}
    />
  )
}

type Kind = CreateChannelRequest['kind']

const NAMES: Readonly<Record<Kind, string>> = {
  telegram: 'Telegram',
  discord: 'Discord',
  ntfy: 'ntfy',
  webhook: 'Webhook',
}

/** Shows a webhook's secret until the next channel is added. */
export function ChannelForm() {
  const [kind, setKind] = useState<Kind>('telegram')
  const [secret, setSecret] = useState<string | null>(null)
  const form = useForm(CreateChannelRequest, async (wish) => {
    const created = await createChannel(wish)
    setSecret(created.secret)
    form.formRef.current?.reset()
    setKind('telegram')
    await refresh(noticeChannelsQuery)
  })
  return (
    <Form form={form} verb="Test and add" look="primary">
      {form.isDone && (
        <Notice tone="good" title="Channel added">
          {secret && (
            <>
              <p>Use this secret to verify webhook requests. It is shown only once.</p>
              <div className="flex flex-wrap items-center gap-2">
                <code className="rounded-md bg-sunken px-2.5 py-1.5 font-mono text-[0.8125rem] break-all">
                  {secret}
                </code>
                <CopyButton text={secret} what="secret" />
              </div>
            </>
          )}
        </Notice>
      )}
      <SelectField label="Type" name="kind" value={kind} onChange={(event) => setKind(toKind(event.target.value))}>
        {Object.entries(NAMES).map(([id, name]) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </SelectField>
      <RecipientFields kind={kind} />
    </Form>
  )
}

function RecipientFields({ kind }: { kind: Kind }) {
  switch (kind) {
    case 'telegram':
      return (
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <PasswordField label="Bot token" name="botToken" hint="From @BotFather." />
          <TextField label="Chat ID" name="chatId" hint="Your own ID, or the ID of a group that includes the bot." />
        </div>
      )
    case 'discord':
      return (
        <PasswordField label="Webhook URL" name="url" hint="In Discord: Channel settings → Integrations → Webhooks." />
      )
    case 'ntfy':
      return (
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <TextField label="Server" name="server" defaultValue="https://ntfy.sh" />
          <TextField label="Topic" name="topic" hint="Anyone who knows the topic can read it. Make it hard to guess." />
        </div>
      )
    case 'webhook':
      return <PasswordField label="URL" name="url" hint="Receives JSON signed according to Standard Webhooks." />
  }
}

function toKind(value: string): Kind {
  return CreateChannelRequest.options.map(({ shape }) => shape.kind.value).find((kind) => kind === value) ?? 'telegram'
}
