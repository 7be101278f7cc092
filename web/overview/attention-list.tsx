import { Link } from '@tanstack/react-router'
import {
  Bot,
  ChevronRight,
  CircleCheck,
  CreditCard,
  Gauge,
  KeyRound,
  type LucideIcon,
  ShieldQuestion,
} from 'lucide-react'
import type { ReactNode } from 'react'
import type { Attention } from '../../src/features/admin/overview/schemas.ts'
import { Moment } from '../ui/moment.tsx'

export function AttentionList({ attention, isUsed }: { attention: Attention[]; isUsed: boolean }) {
  if (attention.length === 0) {
    if (!isUsed) return null
    return (
      <p className="flex items-center gap-2.5 rounded-xl bg-accent-soft px-4 py-3.5 text-sm">
        <CircleCheck aria-hidden className="size-4 shrink-0 text-accent" />
        All clear
      </p>
    )
  }
  return (
    <section aria-labelledby="attention" className="overflow-hidden rounded-xl border border-line bg-surface">
      <h2 id="attention" className="flex min-h-13 items-center px-4 font-semibold">
        Needs attention
      </h2>
      <ul className="divide-y divide-line border-t border-line">
        {attention.map((each) => (
          <li key={keyOf(each)}>
            <Line attention={each} />
          </li>
        ))}
      </ul>
    </section>
  )
}

const lineClass = 'flex min-h-14 items-center gap-3 px-4 py-2.5 -outline-offset-2 hover:bg-sunken'

function Line({ attention }: { attention: Attention }) {
  switch (attention.kind) {
    case 'agent-down':
      return (
        <Link to="/agents/$agentId/overview" params={{ agentId: attention.agentId }} className={lineClass}>
          <Words Icon={Bot} tone="bad" title={`${attention.name} is down`}>
            {attention.reason ?? 'No reason reported. Check the logs.'}
          </Words>
        </Link>
      )
    case 'more-agents-down':
      return (
        <Link to="/agents" search={{ status: 'error' }} className={lineClass}>
          <Words
            Icon={Bot}
            tone="bad"
            title={`${attention.more} more ${attention.more === 1 ? 'agent is' : 'agents are'} down`}
          >
            View agents
          </Words>
        </Link>
      )
    case 'approvals':
      return (
        <Link to="/approvals" className={lineClass}>
          <Words
            Icon={ShieldQuestion}
            tone="warn"
            title={attention.waiting === 1 ? '1 approval is waiting' : `${attention.waiting} approvals are waiting`}
          >
            The agent continues once you decide.
          </Words>
        </Link>
      )
    case 'payment-due':
      return (
        <Link to="/billing" className={lineClass}>
          <Words Icon={CreditCard} tone="bad" title="Payment failed">
            {attention.graceEndsAt ? (
              <>
                Your plan ends <Moment at={attention.graceEndsAt} as="distance" /> unless it is paid.
              </>
            ) : (
              'Check your card.'
            )}
          </Words>
        </Link>
      )
    case 'own-key-failing':
      return (
        <Link to="/settings/keys" className={lineClass}>
          <Words Icon={KeyRound} tone="bad" title={`Your ${attention.provider} key is failing`}>
            {attention.reason ?? 'The last call with this key was rejected.'}
          </Words>
        </Link>
      )
    case 'plan-used':
    case 'key-used':
      return <Used attention={attention} />
  }
}

type UsedAttention = Extract<Attention, { kind: 'plan-used' | 'key-used' }>

function Used({ attention }: { attention: UsedAttention }) {
  if (attention.kind === 'plan-used')
    return (
      <Link to="/billing" className={lineClass}>
        <Words
          Icon={Gauge}
          tone={toneOf(attention.percent)}
          title={`${attention.percent}% of this month’s tokens used`}
        >
          At 100%, model calls are rejected until the month ends.
        </Words>
      </Link>
    )
  return (
    <Link to="/settings/keys" className={lineClass}>
      <Words
        Icon={KeyRound}
        tone={toneOf(attention.percent)}
        title={`${attention.name} has ${attention.percent < 100 ? `used ${attention.percent}% of its limit` : 'reached its limit'}`}
      >
        {attention.percent < 100
          ? 'At 100%, requests with this key are rejected until the month ends.'
          : 'Requests with this key are rejected until the month ends.'}
      </Words>
    </Link>
  )
}

type Tone = 'bad' | 'warn'
const tones: Record<Tone, string> = { bad: 'bg-bad-soft text-bad', warn: 'bg-warn-soft text-warn' }

function toneOf(percent: number): Tone {
  return percent >= 100 ? 'bad' : 'warn'
}

type WordsProps = { Icon: LucideIcon; tone: Tone; title: string; children: ReactNode }

function Words({ Icon, tone, title, children }: WordsProps) {
  return (
    <>
      <span aria-hidden className={`grid size-9 shrink-0 place-items-center rounded-lg ${tones[tone]}`}>
        <Icon className="size-4.5" />
      </span>
      <span className="grid min-w-0 flex-1">
        <span className="font-medium break-words">{title}</span>
        <span className="line-clamp-2 text-sm break-words text-muted">{children}</span>
      </span>
      <ChevronRight aria-hidden className="size-4 shrink-0 text-muted" />
    </>
  )
}

function keyOf(attention: Attention): string {
  const of =
    'agentId' in attention
      ? attention.agentId
      : 'keyId' in attention
        ? attention.keyId
        : 'provider' in attention
          ? attention.provider
          : ''
  return `${attention.kind} ${of}`
}
