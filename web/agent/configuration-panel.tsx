import { queryOptions, useQuery } from '@tanstack/react-query'
import { Undo2 } from 'lucide-react'
import { useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import {
  RestoredRevision,
  type Revision,
  RevisionDetail,
  RevisionList,
} from '../../src/features/agents/revisions/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Panel } from '../ui/panel.tsx'
import { ChangeList } from './change-list.tsx'

function revisionsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'revisions'],
    queryFn: async ({ signal }) =>
      (await request(RevisionList, api.GET('/api/agents/{id}/revisions', { ...inPath({ id: agentId }), signal })))
        .revisions,
    refetchInterval: 30_000,
  })
}

function revisionQuery(agentId: string, number: number) {
  const path = { id: agentId, number: String(number) }
  return queryOptions({
    queryKey: [...revisionsQuery(agentId).queryKey, number],
    queryFn: ({ signal }) =>
      request(RevisionDetail, api.GET('/api/agents/{id}/revisions/{number}', { ...inPath(path), signal })),
    staleTime: 0,
  })
}

export function ConfigurationPanel({ agent }: { agent: WebAgent }) {
  const query = useQuery(revisionsQuery(agent.id))
  const [chosen, setChosen] = useState<Revision | null>(null)
  return (
    <Panel title="Configuration history">
      <Loaded
        query={query}
        what="configuration history"
        placeholder={
          <LoadingShapes what="configuration history" className="grid gap-3 px-4 pb-4">
            <Skeleton className="h-10" />
          </LoadingShapes>
        }
        problemClassName="px-4 pb-4"
      >
        {(revisions) =>
          revisions.length === 0 ? (
            <p className="border-t border-line px-4 py-4 text-sm text-muted">
              No changes yet. Every change of model, instructions, tools, settings or image is listed here.
            </p>
          ) : (
            <section
              aria-label="Configurations"
              // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
              tabIndex={0}
              className="max-h-112 overflow-y-auto border-t border-line -outline-offset-2"
            >
              <ol className="divide-y divide-line">
                {revisions.map((revision) => (
                  <RevisionRow key={revision.number} revision={revision} onRestore={() => setChosen(revision)} />
                ))}
              </ol>
            </section>
          )
        }
      </Loaded>
      {chosen && <RestoreDialog agent={agent} revision={chosen} onClose={() => setChosen(null)} />}
    </Panel>
  )
}

function RevisionRow({ revision, onRestore }: { revision: Revision; onRestore: () => void }) {
  const { number, author, isCurrent, healthyAt, restoredFrom, changes, createdAt } = revision
  return (
    <li className="flex flex-wrap items-start justify-between gap-x-3 gap-y-2 px-4 py-3 text-sm">
      <div className="grid min-w-0 grid-cols-1 gap-1">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <span className="font-medium">Revision {number}</span>
          {isCurrent && <Badge tone="plain">Current</Badge>}
          {healthyAt && <Badge tone="good">Healthy</Badge>}
          <span className="text-muted">
            <Moment at={createdAt} as="minute" />
            {` · by ${authorOf(author)}`}
            {restoredFrom !== null && ` · restored from revision ${restoredFrom}`}
          </span>
        </div>
        <ChangeList changes={changes} />
      </div>
      {!isCurrent && (
        <Button Icon={Undo2} aria-label={`Restore… revision ${number}`} onClick={onRestore}>
          Restore…
        </Button>
      )}
    </li>
  )
}

const authors = { operator: 'the operator', platform: 'the platform', watchdog: 'the watchdog' } as const

function authorOf({ kind, name }: Revision['author']): string {
  return kind === 'user' ? (name ?? 'a deleted user') : authors[kind]
}

function RestoreDialog({ agent, revision, onClose }: { agent: WebAgent; revision: Revision; onClose: () => void }) {
  const query = useQuery(revisionQuery(agent.id, revision.number))
  const path = { id: agent.id, number: String(revision.number) }
  return (
    <ConfirmDialog
      title={`Restore revision ${revision.number}?`}
      lead={`Changes ${agent.name} back to this configuration. A running agent restarts. The present configuration stays in the history.`}
      verb="Restore"
      run={async () => {
        await request(RestoredRevision, api.POST('/api/agents/{id}/revisions/{number}/restore', inPath(path)))
        void refresh(agentQuery(agent.id))
      }}
      onClose={onClose}
    >
      <Loaded
        query={query}
        what="changes"
        placeholder={
          <LoadingShapes what="changes" className="grid gap-3">
            <Skeleton className="h-10" />
          </LoadingShapes>
        }
      >
        {({ restoring }) =>
          restoring.length === 0 ? (
            <p className="text-sm text-muted">Nothing differs from the present configuration.</p>
          ) : (
            <ChangeList changes={restoring} />
          )
        }
      </Loaded>
    </ConfirmDialog>
  )
}
