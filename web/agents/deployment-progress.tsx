import { Check, CircleDashed, LoaderCircle, RotateCw, Trash2, X } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { refresh } from '../api/query-client.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { DeleteDialog } from './agent-menu.tsx'
import { agentsQuery, useChangeAgent } from './agents-api.ts'
import { type Deployment, deploymentSteps, useDeployment } from './deployment.ts'

type DeploymentProgressProps = {
  agent: { id: string; name: string }
  onRunning: () => void
  onDeleted: () => void
  readyAction?: ReactNode
}

export function DeploymentProgress({ agent, onRunning, onDeleted, readyAction }: DeploymentProgressProps) {
  const { deployment, again } = useDeployment(agent.id)
  const { outcome } = deployment
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once per outcome
  useEffect(() => {
    if (outcome === 'working') return
    void refresh(agentsQuery)
    if (outcome === 'running') onRunning()
  }, [outcome])
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
          Icon={RotateCw}
          look="primary"
          isPending={change.isPending}
          onClick={() => change.mutate('restart', { onSuccess: onRestarted })}
        >
          Retry
        </Button>
        <Button Icon={Trash2} onClick={() => setAsking(true)}>
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

type StepState = 'done' | 'now' | 'failed' | 'open'

const looks: Record<StepState, { Icon: typeof Check; word: string; ring: string; text: string }> = {
  done: { Icon: Check, word: 'done', ring: 'bg-accent text-accent-ink', text: 'text-ink' },
  now: {
    Icon: LoaderCircle,
    word: 'in progress',
    ring: 'bg-warn-soft text-warn [&_svg]:animate-spin',
    text: 'text-ink',
  },
  failed: { Icon: X, word: 'failed', ring: 'bg-bad text-surface', text: 'text-bad' },
  open: { Icon: CircleDashed, word: 'not started', ring: 'bg-sunken text-muted', text: 'text-muted' },
}

function DeploymentSteps({ deployment }: { deployment: Deployment }) {
  return (
    <ol aria-label="Deployment steps" className="grid">
      {deploymentSteps.map((step, index) => (
        <DeploymentStep key={step.step} step={step} state={stateOf(index, deployment)} />
      ))}
    </ol>
  )
}

type DeploymentStepProps = { step: (typeof deploymentSteps)[number]; state: StepState }

function DeploymentStep({ step: { label, detail }, state }: DeploymentStepProps) {
  const { Icon, word, ring, text } = looks[state]
  return (
    <li
      data-state={state}
      aria-current={state === 'now' ? 'step' : undefined}
      className="group relative flex gap-3.5 pb-5 last:pb-0"
    >
      <span
        aria-hidden
        className="absolute top-7 bottom-0 left-3.5 w-px bg-line group-last:hidden group-data-[state=done]:bg-accent"
      />
      <span className={`relative grid size-7 shrink-0 place-items-center rounded-full ${ring}`}>
        <Icon aria-hidden className="size-4" />
      </span>
      <span className={`grid pt-0.5 ${text}`}>
        <span className="font-medium">
          {label}
          <span className="sr-only">, {word}</span>
        </span>
        <span className="text-sm text-muted">{detail}</span>
      </span>
    </li>
  )
}

function stateOf(index: number, { reached, outcome }: Deployment): StepState {
  if (index < reached || outcome === 'running') return 'done'
  if (index > reached) return 'open'
  return outcome === 'failed' ? 'failed' : 'now'
}
