import { useQueryClient } from '@tanstack/react-query'
import { RotateCw, Trash2 } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { useChangeAgent } from './agent-changes.ts'
import { agentsQuery } from './agents-api.ts'
import { DeleteDialog } from './delete-dialog.tsx'
import { type Deployment, deploymentSteps, useDeployment } from './deployment.ts'
import { DeploymentSteps } from './deployment-steps.tsx'

type DeploymentProgressProps = {
  agent: { id: string; name: string }
  onRunning: () => void
  onDeleted: () => void
  readyAction?: ReactNode
}

export function DeploymentProgress({ agent, onRunning, onDeleted, readyAction }: DeploymentProgressProps) {
  const client = useQueryClient()
  const { deployment, again } = useDeployment(agent.id)
  const { outcome } = deployment
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per outcome
  useEffect(() => {
    if (outcome === 'working') return
    void client.invalidateQueries({ queryKey: agentsQuery.queryKey })
    if (outcome === 'running') onRunning()
  }, [outcome, client])
  return (
    <section aria-label={`Deployment of ${agent.name}`} className="grid grid-cols-1 gap-5">
      <p role="status" className="sr-only">
        {announce(agent.name, deployment)}
      </p>
      <DeploymentSteps deployment={deployment} />
      {outcome === 'running' && readyAction}
      {outcome === 'failed' && (
        <Failed agent={agent} error={deployment.error} onRestarted={again} onDeleted={onDeleted} />
      )}
    </section>
  )
}

type FailedProps = {
  agent: { id: string; name: string }
  error: string | null
  onRestarted: () => void
  onDeleted: () => void
}

function Failed({ agent, error, onRestarted, onDeleted }: FailedProps) {
  const change = useChangeAgent(agent.id)
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Notice tone="problem" title={`Could not start ${agent.name}`}>
        <p>{error}</p>
        {change.isError && <p>Retry failed: {messageFor(change.error)}</p>}
      </Notice>
      <div className="flex flex-wrap gap-2">
        <Button
          look="primary"
          isPending={change.isPending}
          onClick={() => change.mutate('restart', { onSuccess: onRestarted })}
        >
          {!change.isPending && <RotateCw aria-hidden className="size-4" />}
          Retry
        </Button>
        <Button onClick={() => setAsking(true)}>
          <Trash2 aria-hidden className="size-4" />
          Delete
        </Button>
      </div>
      {isAsking && (
        <DeleteDialog agent={agent} onClose={() => setAsking(false)} onDeleted={onDeleted} onCloseFocus={() => {}} />
      )}
    </>
  )
}

function announce(name: string, { reached, outcome, error }: Deployment): string {
  if (outcome === 'running') return `${name} is running.`
  if (outcome === 'failed') return `Could not start ${name}. ${error ?? ''}`
  return `${name}: ${deploymentSteps[reached]?.detail ?? ''}`
}
