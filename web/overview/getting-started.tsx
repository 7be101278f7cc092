import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import type { Overview } from '../../src/features/admin/overview/schemas.ts'
import { sessionQuery } from '../account/session.ts'
import { servicesQuery, setProvider } from '../admin/services-api.ts'
import { refresh } from '../api/query-client.ts'
import { messageFor } from '../api/request.ts'
import { PLAN_NEEDED, PlanLink, useNeedsPlan } from '../billing/plan-needed.tsx'
import { OwnKeyForm } from '../settings/own-keys-section.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { overviewQuery } from './overview-api.ts'

const KEY = 'stead-first-steps'

type Step = { id: string; title: string; text: string; isDone: boolean; action: ReactNode }

/** Each step completes itself; the list can be dismissed. */
export function GettingStarted({ steps }: Pick<Overview, 'steps'>) {
  const [isSkipped, setSkipped] = useState(() => localStorage.getItem(KEY) === 'skipped')
  const all = listSteps(steps, useNeedsPlan())
  const done = all.filter(({ isDone }) => isDone).length
  const next = all.find(({ isDone }) => !isDone)
  if (isSkipped || !next) return null
  const skip = () => {
    localStorage.setItem(KEY, 'skipped')
    setSkipped(true)
  }
  return (
    <section aria-labelledby="first-steps" className="overflow-hidden rounded-xl border border-line bg-surface">
      <div className="flex min-h-13 items-center justify-between gap-3 px-4 py-2">
        <h2 id="first-steps" className="font-semibold">
          Get started{' '}
          <span className="text-sm font-normal text-muted tabular-nums">
            {done} of {all.length}
          </span>
        </h2>
        <Button look="ghost" onClick={skip}>
          Dismiss
        </Button>
      </div>
      <ol className="divide-y divide-line border-t border-line">
        {all.map((step) => (
          <StepLine key={step.id} step={step} isNext={step === next} />
        ))}
      </ol>
    </section>
  )
}

function StepLine({ step: { title, text, isDone, action }, isNext }: { step: Step; isNext: boolean }) {
  return (
    <li className="flex gap-3 px-4 py-3">
      <span
        aria-hidden
        className={`mt-0.5 grid size-5 shrink-0 place-items-center rounded-full ${isDone ? 'bg-accent text-accent-ink' : 'border-[1.5px] border-edge'}`}
      >
        {isDone && <Check className="size-3.5" />}
      </span>
      <div className="grid min-w-0 flex-1 grid-cols-1 gap-2.5">
        <p className={isDone ? 'text-muted' : isNext ? 'font-medium' : ''}>
          {title}
          <span className="sr-only">{isDone ? ', done' : ', to do'}</span>
        </p>
        {isNext && (
          <>
            <p className="-mt-2 text-sm text-muted">{text}</p>
            {action}
          </>
        )}
      </div>
    </li>
  )
}

function listSteps({ model, agent, hello, telegram, backup }: Overview['steps'], needsPlan: boolean): Step[] {
  const backUp: Step = {
    id: 'backup',
    title: 'Create a backup',
    text: 'Run stead backup, or schedule automatic backups in Admin → Backups.',
    isDone: backup ?? false,
    action: <DocumentLink path="/docs/backups">How backups work</DocumentLink>,
  }
  return [
    { id: 'account', title: 'Your account', text: '', isDone: true, action: null },
    {
      id: 'model',
      title: 'Connect a model provider',
      text: 'Add a provider API key. We test it, encrypt it, and never show it again.',
      isDone: model,
      action: <TriedKeyForm />,
    },
    {
      id: 'agent',
      title: 'Create agent',
      text: needsPlan ? PLAN_NEEDED : 'Each agent has its own gateway, memory and files.',
      isDone: agent,
      action: needsPlan ? <PlanLink /> : <StepLink to="/agents/new">Create agent</StepLink>,
    },
    {
      id: 'hello',
      title: 'Send a message',
      text: 'Open your agent and send a message. Each answer shows its cost.',
      isDone: hello,
      action: <StepLink to="/agents">Open your agents</StepLink>,
    },
    {
      id: 'telegram',
      title: 'Connect Telegram',
      text: 'Add a bot token in the agent’s settings to chat with it on your phone.',
      isDone: telegram,
      action: <DocumentLink path="/docs/channels">How to create a bot</DocumentLink>,
    },
    ...(backup === null ? [] : [backUp]),
  ]
}

/** Administrators can add a provider for everyone. */
function TriedKeyForm() {
  const isAdmin = useQuery(sessionQuery).data?.user?.isAdmin ?? false
  return (
    <div className="grid gap-3">
      <OwnKeyForm onEnabled={() => refresh(overviewQuery)} />
      {isAdmin && <PlatformProvider />}
    </div>
  )
}

/** Offers a detected Ollama, or any other server. */
function PlatformProvider() {
  const ollama = useQuery(servicesQuery).data?.ollama
  const use = useMutation({ mutationFn: (baseUrl: string) => setProvider('ollama', { baseUrl, label: 'Ollama' }) })
  return (
    <div className="flex flex-wrap items-center gap-2 text-sm">
      {ollama && (
        <Button isPending={use.isPending} onClick={() => use.mutate(ollama.baseUrl)}>
          Use Ollama on this machine
        </Button>
      )}
      <Link to="/admin/services" className={buttonClass('plain')}>
        Add a provider for everyone
      </Link>
      {use.error && <p className="text-bad">{messageFor(use.error)}</p>}
    </div>
  )
}

function StepLink({ to, children }: { to: '/agents' | '/agents/new'; children: string }) {
  return (
    <Link to={to} className={`${buttonClass('primary')} justify-self-start`}>
      {children}
    </Link>
  )
}

function DocumentLink({ path, children }: { path: string; children: string }) {
  return (
    <a href={path} className={`${buttonClass('plain')} justify-self-start`}>
      {children}
    </a>
  )
}
