import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { Notice as NoticeOfAgent } from '../../src/features/accounts/notices/schemas.ts'
import { LoadingRows, ShowMore } from '../admin/paging.tsx'
import { messageFor } from '../api/request.ts'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem, Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { ChannelForm } from './channel-form.tsx'
import { ChannelList } from './channel-list.tsx'
import { noticeChannelsQuery, noticesQuery, pauseQuery, setPause } from './notices-api.ts'
import { WishesSection } from './wishes-section.tsx'
import { describeDeliveries } from './words.ts'

/** Page `/settings/notices`. */
export function NoticesPage() {
  return (
    <SettingsFrame title="Notifications" lead="Choose how you are notified when an agent needs attention.">
      <Section title="Channels" lead="Each channel is tested before it is added. Email goes to your account address.">
        <ChannelList />
        <ChannelForm />
      </Section>
      <WishesSection />
      <PauseSection />
      <HistorySection />
    </SettingsFrame>
  )
}

/** Pauses all agents of the account. */
function PauseSection() {
  const client = useQueryClient()
  const { data } = useQuery(pauseQuery)
  const change = useMutation({
    mutationFn: setPause,
    onSuccess: (state) => client.setQueryData(pauseQuery.queryKey, state),
  })
  return (
    <Section
      title="Pause all agents"
      badge={data?.pause && <Badge tone="warning">Paused</Badge>}
      lead="Model calls of all your agents are rejected until you resume. Agents keep running and keep their data."
      tone="danger"
    >
      {change.isError && <Notice tone="problem">{messageFor(change.error)}</Notice>}
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
  const query = useInfiniteQuery(noticesQuery)
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
