import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import type { JobState, ShownJob } from '../../src/features/admin/oversight/schemas.ts'
import { Button } from '../ui/button.tsx'
import { Pills } from '../ui/filters.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice } from '../ui/notice.tsx'
import { Empty } from '../ui/panel.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { jobsQuery, retryJob } from './oversight-api.ts'
import { Pages } from './paging.tsx'

const route = getRouteApi('/signed-in/admin/jobs')

const STATES: readonly { state: JobState; label: string; empty: string }[] = [
  { state: 'dead', label: 'Failed', empty: 'No failed jobs in the last 30 days.' },
  { state: 'queued', label: 'Queued', empty: 'No queued jobs.' },
  { state: 'running', label: 'Running', empty: 'No running jobs.' },
  { state: 'done', label: 'Completed', empty: 'No jobs completed in the last day.' },
]

/** Page `/admin/jobs`. */
export function JobsPage() {
  const { state = 'dead' } = route.useSearch()
  const navigate = useNavigate()
  const query = useInfiniteQuery(jobsQuery(state))
  const counts = query.data?.pages[0]?.counts
  return (
    <AdminFrame
      title="Jobs"
      lead="Background jobs. Failed jobs are retried with increasing delays before they are marked as failed."
    >
      <Pills
        label="State"
        value={state}
        choices={STATES.map((each) => ({
          value: each.state,
          label: each.label,
          ...(counts && each.state !== 'done' && { count: counts[each.state] }),
        }))}
        onChoose={(next) =>
          void navigate({ to: '/admin/jobs', search: next === 'dead' ? {} : { state: next }, replace: true })
        }
      />
      <Pages
        query={query}
        what="jobs"
        itemsOf={(page) => page.jobs}
        empty={<Empty>{STATES.find((each) => each.state === state)?.empty}</Empty>}
      >
        {(job) => <JobRow key={job.id} job={job} />}
      </Pages>
    </AdminFrame>
  )
}

function JobRow({ job }: { job: ShownJob }) {
  const { mutate, isPending, error } = useMutation({ mutationFn: () => retryJob(job.id) })
  return (
    <li className="grid grid-cols-1 gap-2 px-3 py-3 sm:px-4">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="grid min-w-0 flex-1 basis-40 grid-cols-1 gap-0.5">
          <p className="font-medium break-all">{job.kind}</p>
          <p className="flex flex-wrap gap-x-3 text-sm text-muted">
            <When job={job} />
            <span className="tabular-nums">
              {job.attempts} {job.attempts === 1 ? 'attempt' : 'attempts'}
            </span>
            <span className="font-mono text-[0.8125rem] break-all">{job.id}</span>
          </p>
          {job.lastError && <p className="text-sm wrap-anywhere">Last error: {job.lastError}</p>}
          {job.state === 'dead' && !job.canRetry && (
            <p className="text-sm text-muted">The caller was already notified, so this job cannot be retried.</p>
          )}
        </div>
        {job.canRetry && (
          <Button aria-label={`Retry ${job.kind}`} isPending={isPending} onClick={() => mutate()}>
            Retry
          </Button>
        )}
      </div>
      <ErrorNotice error={error} />
    </li>
  )
}

function When({ job }: { job: ShownJob }) {
  if (job.finishedAt) {
    return (
      <span>
        {job.state === 'dead' ? 'Failed' : 'Completed'} <Moment at={job.finishedAt} as="minute" />
      </span>
    )
  }
  return (
    <span>
      Due <Moment at={job.runAt} as="minute" />
    </span>
  )
}
