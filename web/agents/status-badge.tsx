import type { AgentStatus } from '../../src/features/agents/registry/schemas.ts'

const looks: Record<AgentStatus, { label: string; className: string; dot: string; hint?: string }> = {
  pending: { label: 'Pending', className: 'bg-sunken text-muted', dot: 'rounded-full bg-current' },
  provisioning: {
    label: 'Provisioning',
    className: 'bg-warn-soft text-warn',
    dot: 'rounded-full bg-current animate-breathe',
  },
  running: { label: 'Running', className: 'bg-accent-soft text-accent', dot: 'rounded-full bg-current' },
  sleeping: {
    label: 'Sleeping',
    className: 'bg-sunken text-ink',
    dot: 'rounded-full border-[1.5px] border-dashed border-current',
    hint: 'Wakes when a message arrives',
  },
  stopped: { label: 'Stopped', className: 'bg-sunken text-muted', dot: 'rounded-full border-[1.5px] border-current' },
  error: { label: 'Error', className: 'bg-bad-soft text-bad', dot: 'rotate-45 bg-current' },
  unknown: { label: 'Unknown', className: 'bg-sunken text-muted', dot: 'rounded-full border-[1.5px] border-current' },
}

export function describeStatus(status: AgentStatus): string {
  return looks[status].label
}

/** The dot differs in shape as well as colour. */
export function StatusBadge({ status }: { status: AgentStatus }) {
  const { label, className, dot, hint } = looks[status]
  return (
    <span
      title={hint}
      className={`inline-flex items-center gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium ${className}`}
    >
      <span aria-hidden className={`size-1.5 ${dot}`} />
      {label}
      {hint && <span className="sr-only">, {hint.toLowerCase()}</span>}
    </span>
  )
}
