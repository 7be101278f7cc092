import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { BackupOverview } from '../../src/features/admin/backups/schemas.ts'
import { messageFor } from '../api/request.ts'
import { AskDialog } from '../ui/ask-dialog.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { CheckField, TextField } from '../ui/field.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice } from '../ui/notice.tsx'
import { orderBackup, toDownload } from './backups-api.ts'

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
  const client = useQueryClient()
  const [isAsking, setAsking] = useState(false)
  const { mutate, isPending, error } = useMutation({
    mutationFn: (kind: 'verify' | 'drill') => orderBackup(client, { kind, name }),
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
      {error && <Notice tone="problem">{messageFor(error)}</Notice>}
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
  const client = useQueryClient()
  const [agentId, setAgentId] = useState('')
  const [replace, setReplace] = useState(false)
  const restoring = useMutation({
    mutationFn: () => orderBackup(client, { kind: 'restore', name, agentId: agentId.trim(), replace }),
    onSuccess: onClose,
  })
  return (
    <AskDialog
      title="Restore one agent?"
      lead="Restores its memory, conversations and files from this backup. The agent is stopped afterwards."
      verb="Restore agent"
      look="primary"
      isPending={restoring.isPending}
      error={restoring.error}
      onConfirm={() => restoring.mutate()}
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
    </AskDialog>
  )
}

function toMegabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
