import { useQuery } from '@tanstack/react-query'
import { Undo2 } from 'lucide-react'
import { useState } from 'react'
import type { Deployment } from '../../src/features/agents/deployments/schemas.ts'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded, LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Panel } from '../ui/panel.tsx'
import { deploymentsQuery, type useOperation } from './agent-api.ts'
import { findLastImage, kindOf, whyNot } from './work.ts'
import { ReturnDialog } from './work-section.tsx'

type Operating = ReturnType<typeof useOperation>
type HistoryPanelProps = { agent: WebAgent; operation: Operating }

export function useReturn(agent: WebAgent, deployments: readonly Deployment[] | undefined, operation: Operating) {
  const [image, setImage] = useState<string | null>(null)
  return {
    current: deployments ? findLastImage([...deployments]) : null,
    isBlocked: operation.isPending || whyNot(agent.status, 'update') !== null,
    onReturn: setImage,
    image,
    operation,
  }
}

export function ReturnQuestion({ agent, way }: { agent: WebAgent; way: ReturnType<typeof useReturn> }) {
  const { image, onReturn, operation } = way
  if (image === null) return null
  return (
    <ReturnDialog
      agent={agent}
      image={image}
      onConfirm={(wanted) => {
        operation.mutate(wanted)
        onReturn(null)
      }}
      onClose={() => onReturn(null)}
    />
  )
}

export function HistoryPanel({ agent, operation }: HistoryPanelProps) {
  const query = useQuery(deploymentsQuery(agent.id))
  const way = useReturn(agent, query.data, operation)
  return (
    <Panel title="History">
      <Loaded
        query={query}
        what="history"
        placeholder={
          <LoadingShapes what="history" className="grid gap-3 px-4 pb-4">
            <Skeleton className="h-10" />
            <Skeleton className="h-10" />
          </LoadingShapes>
        }
        problemClassName="px-4 pb-4"
      >
        {(deployments) =>
          deployments.length === 0 ? (
            <p className="border-t border-line px-4 py-4 text-sm text-muted">No deployments yet.</p>
          ) : (
            <section
              aria-label="Deployments"
              // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
              tabIndex={0}
              className="max-h-112 overflow-y-auto border-t border-line -outline-offset-2"
            >
              <ol className="divide-y divide-line">
                {deployments.map((deployment) => (
                  <DeploymentLine key={deployment.id} deployment={deployment} {...way} />
                ))}
              </ol>
            </section>
          )
        }
      </Loaded>
      <ReturnQuestion agent={agent} way={way} />
    </Panel>
  )
}

const looks = {
  succeeded: { tone: 'good', label: 'Succeeded' },
  failed: { tone: 'problem', label: 'Failed' },
  refused: { tone: 'warning', label: 'Rejected' },
  'rolled-back': { tone: 'warning', label: 'Rolled back' },
  replaced: { tone: 'plain', label: 'Superseded' },
  cancelled: { tone: 'plain', label: 'Canceled' },
} as const

type RowProps = {
  deployment: Deployment
  current: string | null
  isBlocked: boolean
  onReturn: (image: string) => void
}

export function DeploymentLine({ deployment, current, isBlocked, onReturn }: RowProps) {
  const { image, previousImage, reason, logTail, durationMs, backupPath } = deployment
  const earlier = previousImage !== current ? previousImage : null
  return (
    <li className="grid grid-cols-1 gap-1.5 px-4 py-3 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="font-medium">{kindOf(deployment)}</span>
        <ResultBadge result={deployment.result} />
        <span className="text-muted">
          <Moment at={deployment.requestedAt} as="minute" />
          {durationMs !== null && `, ${(durationMs / 1000).toFixed(1)} s`}
          {` · by ${requesterOf(deployment)}`}
        </span>
      </div>
      {image && (
        <p className="font-mono text-[0.8125rem] break-all">
          {previousImage && previousImage !== image ? `${previousImage} → ${image}` : image}
        </p>
      )}
      {reason && <p className="text-bad break-words">{reason}</p>}
      {backupPath && <p className="text-muted break-all">Snapshot: {backupPath}</p>}
      {logTail && (
        <details>
          <summary className="cursor-pointer text-muted hover:text-ink">Last log lines</summary>
          <pre className="mt-1.5 max-h-60 overflow-auto rounded-md bg-sunken px-3 py-2 font-mono text-xs whitespace-pre-wrap break-words">
            {logTail}
          </pre>
        </details>
      )}
      {earlier && (
        <Button Icon={Undo2} className="justify-self-start" disabled={isBlocked} onClick={() => onReturn(earlier)}>
          <span className="min-w-0 truncate">Roll back to {earlier}</span>
        </Button>
      )}
    </li>
  )
}

function ResultBadge({ result }: { result: string | null }) {
  if (result === null) return <Badge tone="warning">Running</Badge>
  const look = Object.entries(looks).find(([name]) => name === result)?.[1]
  return <Badge tone={look?.tone ?? 'plain'}>{look?.label ?? result}</Badge>
}

function requesterOf({ requestedBy }: Deployment): string {
  if (requestedBy === 'platform') return 'Stead'
  return requestedBy === 'operator' ? 'administrator' : 'you'
}
