import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { BackupOverview } from '../../src/features/admin/backups/schemas.ts'
import { messageFor } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { BackupForm } from './backup-form.tsx'
import { BackupList } from './backup-list.tsx'
import { BackupRuns } from './backup-runs.tsx'
import { backupsQuery, orderBackup } from './backups-api.ts'
import { LoadingRows } from './paging.tsx'

/** Page `/admin/backups`. */
export function BackupsPage() {
  const query = useQuery(backupsQuery)
  return (
    <AdminFrame title="Backups" lead="Copies of the entire instance: database, encryption keys and agent storage.">
      <Loaded query={query} what="backups" placeholder={<LoadingRows what="backups" />}>
        {(overview) => (
          <div className="grid gap-6">
            <Plan overview={overview} />
            <BackupList overview={overview} />
            <BackupRuns runs={overview.runs} />
          </div>
        )}
      </Loaded>
    </AdminFrame>
  )
}

function Plan({ overview }: { overview: BackupOverview }) {
  const client = useQueryClient()
  const making = useMutation({ mutationFn: () => orderBackup(client, { kind: 'backup' }) })
  const { schedule, drillSchedule, keep, to, isSealed, lastVerifiedAt, lastDrilledAt, runs } = overview
  const isBusy = runs[0]?.finishedAt === null
  const [isEditing, setEditing] = useState(false)
  return (
    <Section
      title="Backup settings"
      badge={<VerifiedBadge at={lastVerifiedAt} />}
      lead="Environment variables override these settings."
      actions={
        <div className="flex flex-wrap gap-3">
          <Button onClick={() => setEditing(!isEditing)}>Edit</Button>
          <Button look="primary" isPending={making.isPending || isBusy} onClick={() => making.mutate()}>
            Back up now
          </Button>
        </div>
      }
    >
      {making.error && <Notice tone="problem">{messageFor(making.error)}</Notice>}
      {isEditing && <BackupForm overview={overview} onClose={() => setEditing(false)} />}
      <Facts>
        <Fact name="Automatic backups">{schedule ? <Times {...schedule} /> : 'Off'}</Fact>
        <Fact name="Restore test">{drillSchedule ? <Times {...drillSchedule} /> : 'Manual'}</Fact>
        <Fact name="Retention">
          {keep.days} daily, {keep.weeks} weekly, {keep.months} monthly
        </Fact>
        <Fact name="Location">{to}</Fact>
        <Fact name="Encrypted">{isSealed ? 'Yes, with your passphrase' : 'No, anyone with a backup can read it'}</Fact>
        <Fact name="Last restore test">{lastDrilledAt ? <Moment at={lastDrilledAt} as="minute" /> : 'None'}</Fact>
      </Facts>
    </Section>
  )
}

function VerifiedBadge({ at }: { at: string | null }) {
  if (!at) return <Badge tone="warning">Never verified</Badge>
  return (
    <Badge tone="good">
      Last verified <Moment at={at} as="distance" />
    </Badge>
  )
}

function Times({ cron, timeZone, nextAt }: NonNullable<BackupOverview['schedule']>) {
  return (
    <>
      {cron} ({timeZone})
      {nextAt && (
        <>
          , next <Moment at={nextAt} as="minute" />
        </>
      )}
    </>
  )
}
