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

/** `/settings/notices`: where and when the caller is told of agents, what was told, and the switch that stops them all. */
export function NoticesPage() {
  return (
    <SettingsFrame title="Notices" lead="Where you are told when an agent needs you.">
      <Section title="Channels" lead="Each is tried before it is kept. Mail goes to the address of your account.">
        <ChannelList />
        <ChannelForm />
      </Section>
      <WishesSection />
      <PauseSection />
      <HistorySection />
    </SettingsFrame>
  )
}

/** The emergency stop of one's own agents. */
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
      lead="No model answers any of your agents until you resume. What they run and keep stays."
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
    <Section title="What you were told" lead="The last 90 days.">
      {!notices && query.error && <LoadProblem what="Your notices" error={query.error} onRetry={query.refetch} />}
      {!notices && !query.error && <LoadingRows what="your notices" />}
      {notices?.length === 0 && <p className="text-sm text-muted">Nothing yet.</p>}
      {notices && notices.length > 0 && <History notices={notices} />}
      {notices && <ShowMore what="notices" {...query} />}
    </Section>
  )
}

function History({ notices }: { notices: NoticeOfAgent[] }) {
  const channels = useQuery(noticeChannelsQuery).data ?? []
  return (
    <ul aria-label="What you were told" className="divide-y divide-line rounded-lg border border-line">
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
