import { Check, CircleDashed, LoaderCircle, X } from 'lucide-react'
import { type Deployment, deploymentSteps } from './deployment.ts'

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

export function DeploymentSteps({ deployment }: { deployment: Deployment }) {
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
