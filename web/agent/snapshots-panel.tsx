import { queryOptions, useQuery } from '@tanstack/react-query'
import { Undo2 } from 'lucide-react'
import { useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { type Snapshot, SnapshotList } from '../../src/features/agents/snapshots/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { api, inPath, request } from '../api/request.ts'
import { formatBytes } from '../settings/storage-section.tsx'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { formatMinute, Moment } from '../ui/moment.tsx'
import { Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Panel } from '../ui/panel.tsx'
import type { useOperation } from './agent-api.ts'
import { kindOf, whyNot } from './work.ts'

type SnapshotsPanelProps = { agent: WebAgent; operation: ReturnType<typeof useOperation> }

function snapshotsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'snapshots'],
    queryFn: async ({ signal }) =>
      (await request(SnapshotList, api.GET('/api/agents/{id}/snapshots', { ...inPath({ id: agentId }), signal })))
        .snapshots,
    refetchInterval: 30_000,
  })
}

export function SnapshotsPanel({ agent, operation }: SnapshotsPanelProps) {
  const query = useQuery(snapshotsQuery(agent.id))
  const [chosen, setChosen] = useState<Snapshot | null>(null)
  const reason = whyNot(agent.status, 'restore-snapshot')
  return (
    <Panel title="Snapshots">
      <Loaded
        query={query}
        what="snapshots"
        placeholder={
          <LoadingShapes what="snapshots" className="grid gap-3 px-4 pb-4">
            <Skeleton className="h-10" />
          </LoadingShapes>
        }
        problemClassName="px-4 pb-4"
      >
        {(snapshots) =>
          snapshots.length === 0 ? (
            <p className="border-t border-line px-4 py-4 text-sm text-muted">
              No snapshots yet. A snapshot is saved before each update and memory reset; the last three are kept.
            </p>
          ) : (
            <ul className="divide-y divide-line border-t border-line" aria-label="Snapshots">
              {snapshots.map((snapshot) => (
                <SnapshotRow
                  key={snapshot.id}
                  snapshot={snapshot}
                  isBusy={operation.isPending}
                  reason={reason}
                  onReturn={() => setChosen(snapshot)}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      {chosen && (
        <RestoreDialog
          agent={agent}
          snapshot={chosen}
          onConfirm={() => {
            operation.mutate({ verb: 'restore-snapshot', snapshotId: chosen.id })
            setChosen(null)
          }}
          onClose={() => setChosen(null)}
        />
      )}
    </Panel>
  )
}

type SnapshotRowProps = { snapshot: Snapshot; isBusy: boolean; reason: string | null; onReturn: () => void }

function SnapshotRow({ snapshot, isBusy, reason, onReturn }: SnapshotRowProps) {
  const { takenAt, before, sizeBytes } = snapshot
  return (
    <li className="flex flex-wrap items-center justify-between gap-x-3 gap-y-2 px-4 py-3 text-sm">
      <span className="min-w-0">
        <Moment at={takenAt} as="minute" />
        <span className="text-muted">
          {before && ` · before: ${kindOf({ kind: before })}`} · {formatBytes(sizeBytes)}
        </span>
      </span>
      <Button
        Icon={Undo2}
        disabled={isBusy || reason !== null}
        title={reason ?? undefined}
        aria-label={`Restore… ${formatMinute(takenAt)}`}
        onClick={onReturn}
      >
        Restore…
      </Button>
    </li>
  )
}

type RestoreDialogProps = { agent: WebAgent; snapshot: Snapshot; onConfirm: () => void; onClose: () => void }

function RestoreDialog({ agent, snapshot, onConfirm, onClose }: RestoreDialogProps) {
  return (
    <ConfirmDialog
      title={`Restore the snapshot from ${formatMinute(snapshot.takenAt)}?`}
      lead={`Stops ${agent.name}, restores its files and memory, and starts it again. Its current state is saved as a snapshot first. Chat history, settings and schedule are not changed.`}
      verb="Restore"
      onConfirm={onConfirm}
      onClose={onClose}
    />
  )
}
