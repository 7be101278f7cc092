import { useQuery } from '@tanstack/react-query'
import { ArrowUpFromLine, Brain, LoaderCircle, Play, RotateCw, Square, Trash2, Wrench } from 'lucide-react'
import { type MouseEventHandler, useRef, useState } from 'react'
import type { Deployment } from '../../src/features/agents/deployments/schemas.ts'
import type { AgentStatusEvent } from '../../src/features/agents/registry/schemas.ts'
import { DeleteDialog } from '../agents/agent-menu.tsx'
import type { AgentVerb } from '../agents/agents-api.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { deploymentsQuery, type Operation, type useOperation } from './agent-api.ts'
import type { AgentPageProps } from './agent-frame.tsx'
import { describeStep, findUnderWay, kindOf, resultOf, whyNot } from './work.ts'

type WorkSectionProps = AgentPageProps & { operation: ReturnType<typeof useOperation>; event: AgentStatusEvent | null }
type Asking = Operation['verb'] | 'delete'

const powers = [
  { verb: 'start', label: 'Start', Icon: Play },
  { verb: 'stop', label: 'Stop', Icon: Square },
  { verb: 'restart', label: 'Restart', Icon: RotateCw },
] as const satisfies { verb: AgentVerb; label: string; Icon: typeof Play }[]
const operations = [
  { verb: 'update', label: 'Update…', Icon: ArrowUpFromLine },
  { verb: 'repair', label: 'Repair…', Icon: Wrench },
  { verb: 'reset-memory', label: 'Reset memory…', Icon: Brain },
] as const

const failures = {
  update: 'Update failed',
  repair: 'Repair failed',
  'reset-memory': 'Memory reset failed',
  'restore-snapshot': 'Rollback failed',
}

export function WorkSection({ agent, change, operation, event, onDeleted }: WorkSectionProps) {
  const [asking, setAsking] = useState<Asking | null>(null)
  const openerRef = useRef<HTMLElement | null>(null)
  const trouble = agent.status === 'error' && !operation.isPending ? event?.error : null
  const isBusy = change.isPending || operation.isPending
  const ask = (verb: Asking, opener: HTMLElement) => {
    openerRef.current = opener
    setAsking(verb)
  }
  const dialog = {
    agent,
    onConfirm: (wanted: Operation) => {
      change.reset()
      operation.mutate(wanted)
      setAsking(null)
    },
    onClose: () => setAsking(null),
    onCloseFocus: (closing: Event) => {
      closing.preventDefault()
      openerRef.current?.focus()
    },
  }
  return (
    <Section title="Actions" lead="Actions continue if you leave this page.">
      <div className="flex flex-wrap gap-2">
        {powers.map((power) => (
          <VerbButton
            key={power.verb}
            {...power}
            isUnderWay={change.isPending && change.variables === power.verb}
            isBusy={isBusy}
            reason={whyNot(agent.status, power.verb)}
            onClick={() => {
              operation.reset()
              change.mutate(power.verb)
            }}
          />
        ))}
        {operations.map((wanted) => (
          <VerbButton
            key={wanted.verb}
            {...wanted}
            isUnderWay={operation.isPending && operation.variables.verb === wanted.verb}
            isBusy={isBusy}
            reason={whyNot(agent.status, wanted.verb)}
            onClick={({ currentTarget }) => ask(wanted.verb, currentTarget)}
          />
        ))}
        <Button Icon={Trash2} onClick={({ currentTarget }) => ask('delete', currentTarget)}>
          Delete…
        </Button>
      </div>
      <WorkLine agentId={agent.id} event={event} isReasonToldBelow={operation.isError} />
      {trouble && (
        <Notice tone="problem" title={`${agent.name} stopped with an error`}>
          {trouble}
        </Notice>
      )}
      {operation.isError && !trouble && (
        <Notice tone="problem" title={failures[operation.variables.verb]}>
          {messageFor(operation.error)}
        </Notice>
      )}
      {asking === 'update' && <UpdateDialog {...dialog} />}
      {asking === 'repair' && <RepairDialog {...dialog} />}
      {asking === 'reset-memory' && <ResetMemoryDialog {...dialog} />}
      {asking === 'delete' && <DeleteDialog {...dialog} onDeleted={onDeleted} />}
    </Section>
  )
}

type VerbButtonProps = {
  label: string
  Icon: typeof Play
  isUnderWay: boolean
  isBusy: boolean
  /** Why the action is unavailable; null when it is available. */
  reason: string | null
  onClick: MouseEventHandler<HTMLButtonElement>
}

function VerbButton({ label, Icon, isUnderWay, isBusy, reason, onClick }: VerbButtonProps) {
  return (
    <Button
      isPending={isUnderWay}
      disabled={!isUnderWay && (isBusy || reason !== null)}
      title={reason ?? undefined}
      onClick={onClick}
    >
      {!isUnderWay && <Icon aria-hidden className="size-3.5" />}
      {label}
    </Button>
  )
}

type WorkLineProps = { agentId: string; event: AgentStatusEvent | null; isReasonToldBelow: boolean }

/** Shows the running operation, or else the last one. */
function WorkLine({ agentId, event, isReasonToldBelow }: WorkLineProps) {
  const { data: deployments, error } = useQuery(deploymentsQuery(agentId))
  const underWay = deployments && findUnderWay(deployments)
  const last = deployments?.[0]
  return (
    <div className="min-h-6 text-sm text-muted">
      <p role="status" className="empty:hidden">
        {underWay && (
          <span className="inline-flex items-baseline gap-2 text-ink">
            <LoaderCircle aria-hidden className="size-3.5 shrink-0 translate-y-0.5 animate-spin text-warn" />
            {kindOf(underWay)}: {describeStep(underWay, event)}
          </span>
        )}
      </p>
      {!underWay && last && <Last deployment={last} reason={isReasonToldBelow ? null : last.reason} />}
      {!deployments && (error ? messageFor(error) : <Skeleton className="h-5 w-56" />)}
      {deployments?.length === 0 && 'No deployments yet.'}
    </div>
  )
}

function Last({ deployment, reason }: { deployment: Deployment; reason: string | null }) {
  return (
    <p>
      Last: {kindOf(deployment)} {resultOf(deployment)},{' '}
      <Moment at={deployment.finishedAt ?? deployment.requestedAt} as="distance" />
      {reason && `: ${reason}`}
    </p>
  )
}

type OperationDialogProps = {
  agent: { name: string }
  onConfirm: (operation: Operation) => void
  onClose: () => void
  onCloseFocus?: (event: Event) => void
}

function UpdateDialog({ agent, onConfirm, ...on }: OperationDialogProps) {
  const [image, setImage] = useState('')
  const wanted = image.trim()
  return (
    <ConfirmDialog
      title={`Update ${agent.name}?`}
      lead="A snapshot is saved first. If the new version does not become healthy, the agent is rolled back."
      verb="Update"
      look="primary"
      onConfirm={() => onConfirm({ verb: 'update', ...(wanted && { image: wanted }) })}
      {...on}
    >
      <TextField
        label="Image"
        value={image}
        onChange={(event) => setImage(event.target.value)}
        placeholder="registry/name:tag"
        autoCapitalize="none"
        spellCheck={false}
        hint="Leave empty for the latest version."
      />
    </ConfirmDialog>
  )
}

export function ReturnDialog({ agent, image, onConfirm, ...on }: OperationDialogProps & { image: string }) {
  return (
    <ConfirmDialog
      title={`Roll back to ${image}?`}
      lead={`Stops ${agent.name}, saves a snapshot, and starts it on that image with its current data.`}
      verb="Roll back"
      look="primary"
      onConfirm={() => onConfirm({ verb: 'update', image })}
      {...on}
    />
  )
}

function RepairDialog({ agent, onConfirm, ...on }: OperationDialogProps) {
  return (
    <ConfirmDialog
      title={`Repair ${agent.name}?`}
      lead="Stops the agent immediately, repairs its files and starts it again. The current turn is lost; memory and conversations are kept."
      verb="Repair"
      look="primary"
      onConfirm={() => onConfirm({ verb: 'repair' })}
      {...on}
    />
  )
}

function ResetMemoryDialog({ agent, onConfirm, ...on }: OperationDialogProps) {
  return (
    <ConfirmDialog
      title={`Reset the memory of ${agent.name}?`}
      lead="Deletes everything the agent remembers and restarts it. Chat history stays readable. A snapshot is saved first."
      verb="Reset memory"
      onConfirm={() => onConfirm({ verb: 'reset-memory' })}
      {...on}
    />
  )
}
