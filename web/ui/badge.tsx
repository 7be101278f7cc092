import type { ReactNode } from 'react'

const tones = {
  good: 'bg-accent-soft text-accent',
  plain: 'bg-sunken text-muted',
  warning: 'bg-warn-soft text-warn',
  problem: 'bg-bad-soft text-bad',
}

export function Badge({ tone = 'plain', children }: { tone?: keyof typeof tones; children: ReactNode }) {
  return (
    <span className={`rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${tones[tone]}`}>{children}</span>
  )
}

export function Waiting({ count, className }: { count: number; className: string }) {
  if (count === 0) return null
  return (
    <span className={className}>
      <Badge tone="warning">
        {count.toLocaleString('en')}
        <span className="sr-only"> waiting</span>
      </Badge>
    </span>
  )
}
