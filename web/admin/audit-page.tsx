import { useInfiniteQuery } from '@tanstack/react-query'
import type { NamedAuditList } from '../../src/features/admin/oversight/schemas.ts'
import { Moment } from '../ui/moment.tsx'
import { Empty } from '../ui/panel.tsx'
import { auditQuery } from './admin-api.ts'
import { AdminFrame } from './admin-frame.tsx'
import { describeDetail, describeEntry } from './audit-words.ts'
import { Pages } from './paging.tsx'

type Entry = NamedAuditList['entries'][number]

/** Page `/admin/audit`. */
export function AuditPage() {
  const query = useInfiniteQuery(auditQuery())
  return (
    <AdminFrame title="Audit log" lead="Changes made by users and administrators, newest first.">
      <Pages
        query={query}
        what="entries"
        itemsOf={({ entries, names }) => entries.map((entry) => ({ entry, names }))}
        empty={<Empty title="No entries yet">Changes to accounts, agents and settings appear here.</Empty>}
      >
        {({ entry, names }) => <EntryRow key={entry.id} entry={entry} names={names} />}
      </Pages>
    </AdminFrame>
  )
}

function EntryRow({ entry, names }: { entry: Entry; names: NamedAuditList['names'] }) {
  const { actor, action, target, address, createdAt } = entry
  const details = describeDetail(entry.detail)
  return (
    <li className="grid grid-cols-1 gap-1 px-3 py-3 sm:px-4">
      <p className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-0.5">
        <span className="min-w-0 wrap-anywhere" title={`${actor} on ${target}`}>
          {describeEntry(entry, names)}
        </span>
        <span className="text-sm text-muted">
          <Moment at={createdAt} as="minute" />
        </span>
      </p>
      {details.length > 0 && <p className="text-sm wrap-anywhere">{details.join(', ')}</p>}
      <p className="flex flex-wrap gap-x-3 text-sm text-muted">
        <span className="font-mono text-[0.8125rem] break-all">{action}</span>
        {address && <span className="break-all">from {address}</span>}
      </p>
    </li>
  )
}
