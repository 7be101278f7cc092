import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import type { BackupOverview, BackupRun } from '../../src/features/admin/backups/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { CheckField, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded } from '../ui/notice.tsx'
import { Fact, Facts, Section } from '../ui/panel.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { backupsQuery, orderBackup, setBackups, toDownload } from './backups-api.ts'
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
  const making = useMutation({ mutationFn: () => orderBackup({ kind: 'backup' }) })
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
      <ErrorNotice error={making.error} />
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

/** An empty field means the default. */
const orDefault = z
  .string()
  .trim()
  .transform((text) => text || null)
  .optional()
const BackupFields = z.object({ schedule: orDefault, to: orDefault, keep: orDefault })

/** Omits settings that the environment fixes. */
export function BackupForm({ overview, onClose }: { overview: BackupOverview; onClose: () => void }) {
  const { fixed, schedule, to, keep } = overview
  const form = useForm(BackupFields, async (fields) => {
    const body = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
    await setBackups(body)
    onClose()
  })
  const hint = (isFixed: boolean, variable: string, text: string) =>
    isFixed ? `Set by ${variable} in the environment.` : text
  return (
    <Form form={form} verb="Save" onCancel={onClose}>
      <TextField
        label="Schedule"
        name="schedule"
        disabled={fixed.schedule}
        defaultValue={schedule ? `${schedule.cron} ${schedule.timeZone}` : ''}
        hint={hint(
          fixed.schedule,
          'BACKUP_SCHEDULE',
          'Cron expression and time zone, for example 0 3 * * * Europe/Berlin. Leave empty to turn automatic backups off.',
        )}
      />
      <TextField
        label="Location"
        name="to"
        disabled={fixed.to}
        defaultValue={to}
        hint={hint(
          fixed.to,
          'BACKUP_TO',
          'Absolute path of a folder, or s3://bucket/prefix. It is tested when you save.',
        )}
      />
      <TextField
        label="Retention"
        name="keep"
        disabled={fixed.keep}
        defaultValue={`${keep.days}d ${keep.weeks}w ${keep.months}m`}
        hint={hint(fixed.keep, 'BACKUP_KEEP', 'Daily, weekly and monthly backups to keep, for example 7d 4w 6m.')}
      />
    </Form>
  )
}

type Backup = BackupOverview['backups'][number]

export function BackupList({ overview: { backups, runs } }: { overview: BackupOverview }) {
  if (backups.length === 0) {
    return (
      <p className="rounded-xl border border-dashed border-edge px-6 py-12 text-center text-muted">No backups yet</p>
    )
  }
  return (
    <ul aria-label="Backups" className="divide-y divide-line rounded-xl border border-line bg-surface">
      {backups.map((backup) => (
        <BackupRow key={backup.name} backup={backup} isBusy={runs[0]?.finishedAt === null} />
      ))}
    </ul>
  )
}

function BackupRow({ backup, isBusy }: { backup: Backup; isBusy: boolean }) {
  const { name, sizeBytes, createdAt, isSealed, restoreCommand } = backup
  const [isAsking, setAsking] = useState(false)
  const { mutate, isPending, error } = useMutation({
    mutationFn: (kind: 'verify' | 'drill') => orderBackup({ kind, name }),
  })
  return (
    <li className="grid grid-cols-1 gap-2 px-3 py-3 sm:px-4">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="grid min-w-0 gap-1">
          <p className="flex flex-wrap items-baseline gap-x-2.5 gap-y-0.5">
            <span className="font-medium">{createdAt ? <Moment at={createdAt} as="minute" /> : name}</span>
            <span className="text-sm text-muted">{toMegabytes(sizeBytes)}</span>
            {isSealed && <Badge>encrypted</Badge>}
          </p>
          <p className="text-sm break-all text-muted">{name}</p>
        </div>
        <div className="flex flex-wrap gap-2">
          <Button isPending={isPending || isBusy} onClick={() => mutate('verify')}>
            Verify
          </Button>
          <Button isPending={isPending || isBusy} onClick={() => mutate('drill')}>
            Test restore
          </Button>
          <Button isPending={isBusy} onClick={() => setAsking(true)}>
            Restore an agent
          </Button>
          <a className={buttonClass('plain')} href={toDownload(name)} download>
            Download
          </a>
        </div>
      </div>
      <ErrorNotice error={error} />
      <details className="text-sm">
        <summary className="cursor-pointer text-muted">Restore the entire instance</summary>
        <div className="grid gap-2 pt-2">
          <p>Stop Stead on its host, run this command there, then start Stead again.</p>
          <div className="flex flex-wrap items-center gap-2">
            <code className="min-w-0 flex-1 basis-60 rounded-md bg-sunken px-3 py-2 break-all">{restoreCommand}</code>
            <CopyButton text={restoreCommand} what="restore command" />
          </div>
        </div>
      </details>
      {isAsking && <RestoreDialog name={name} onClose={() => setAsking(false)} />}
    </li>
  )
}

function RestoreDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const [agentId, setAgentId] = useState('')
  const [replace, setReplace] = useState(false)
  return (
    <ConfirmDialog
      title="Restore one agent?"
      lead="Restores its memory, conversations and files from this backup. The agent is stopped afterwards."
      verb="Restore agent"
      look="primary"
      run={() => orderBackup({ kind: 'restore', name, agentId: agentId.trim(), replace })}
      onClose={onClose}
    >
      <TextField
        label="Agent ID"
        hint="Part of the agent page’s URL."
        value={agentId}
        autoCapitalize="none"
        spellCheck={false}
        onChange={(event) => setAgentId(event.target.value)}
      />
      <CheckField
        label="Replace the existing agent"
        hint="Stop it first. Its current memory, conversations and files are overwritten."
        checked={replace}
        onChange={(event) => setReplace(event.target.checked)}
      />
    </ConfirmDialog>
  )
}

function toMegabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

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
