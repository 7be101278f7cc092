import { useInfiniteQuery } from '@tanstack/react-query'
import type { AuditList } from '../../src/features/people/audit/schemas.ts'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem } from '../ui/notice.tsx'
import { auditQuery } from './admin-api.ts'
import { AdminFrame } from './admin-frame.tsx'
import { describeDetail } from './audit-detail.ts'
import { LoadingRows, ShowMore } from './paging.tsx'

/** `/admin/audit`: who changed what, newest first. Nothing here can be changed. */
export function AuditPage() {
  return (
    <AdminFrame title="Audit log" lead="Who changed what, newest first.">
      <Entries />
    </AdminFrame>
  )
}

function Entries() {
  const { data, error, refetch, ...paging } = useInfiniteQuery(auditQuery())
  const entries = data?.pages.flatMap((page) => page.entries)
  if (!entries && error) return <LoadProblem what="The audit log" error={error} onRetry={refetch} />
  if (!entries) return <LoadingRows what="the audit log" />
  if (entries.length === 0) {
    return (
      <p className="rounded-xl border border-dashed border-edge px-6 py-12 text-center text-muted">
        Nothing has happened yet.
      </p>
    )
  }
  return (
    <>
      <ol aria-label="Audit log" className="divide-y divide-line rounded-xl border border-line bg-surface">
        {entries.map((entry) => (
          <EntryRow key={entry.id} entry={entry} />
        ))}
      </ol>
      <ShowMore what="entries" error={error} {...paging} />
    </>
  )
}

function EntryRow({ entry }: { entry: AuditList['entries'][number] }) {
  const details = describeDetail(entry.detail)
  return (
    <li className="grid grid-cols-1 gap-1 px-3 py-3 sm:px-4">
      <p className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-0.5">
        <span className="font-medium break-all">{entry.action}</span>
        <span className="text-sm text-muted">
          <Moment at={entry.createdAt} as="minute" />
        </span>
      </p>
      <dl className="flex flex-wrap gap-x-4 gap-y-0.5 text-sm text-muted">
        <Fact term="By" value={entry.actor} />
        {entry.target !== entry.actor && <Fact term="On" value={entry.target} />}
        {entry.address && <Fact term="From" value={entry.address} />}
      </dl>
      {details.length > 0 && <p className="text-sm break-words">{details.join(', ')}</p>}
    </li>
  )
}

function Fact({ term, value }: { term: string; value: string }) {
  return (
    <div className="flex min-w-0 items-baseline gap-1.5">
      <dt>{term}</dt>
      <dd className="min-w-0 font-mono text-[0.8125rem] break-all">{value}</dd>
    </div>
  )
}
