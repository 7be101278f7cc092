import type { BackupRun } from '../../src/features/admin/backups/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Moment } from '../ui/moment.tsx'

const WORDS: Record<BackupRun['kind'], string> = {
  backup: 'Backup',
  verify: 'Verification',
  drill: 'Restore test',
  restore: 'Agent restored',
}

export function BackupRuns({ runs }: { runs: BackupRun[] }) {
  if (runs.length === 0) return null
  return (
    <section className="grid gap-2">
      <h2 className="font-semibold">Activity</h2>
      <ul aria-label="Activity" className="divide-y divide-line rounded-xl border border-line bg-surface">
        {runs.map((run) => (
          <li key={run.id} className="grid gap-1 px-3 py-3 sm:px-4">
            <p className="flex flex-wrap items-baseline gap-x-2.5 gap-y-0.5">
              <span className="font-medium">{WORDS[run.kind]}</span>
              <State run={run} />
              <span className="text-sm text-muted">
                <Moment at={run.startedAt} as="minute" />
              </span>
            </p>
            {run.name && <p className="text-sm break-all text-muted">{run.name}</p>}
            {(run.error ?? run.outcome) && <p className="text-sm wrap-anywhere">{run.error ?? run.outcome}</p>}
          </li>
        ))}
      </ul>
    </section>
  )
}

function State({ run: { finishedAt, error } }: { run: BackupRun }) {
  if (finishedAt === null) return <Badge tone="warning">running</Badge>
  return error ? <Badge tone="problem">failed</Badge> : <Badge tone="good">succeeded</Badge>
}
