import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Activity, ArrowUp, ChartColumn, Check, type LucideIcon, MessagesSquare, ShieldCheck } from 'lucide-react'
import { useEffect, useId, useRef, useState } from 'react'
import type { PlanList } from '../../src/features/payments/billing/schemas.ts'
import { FieldsPicture } from '../account/auth-frame.tsx'
import { FieldMark } from '../agents/field-mark.tsx'
import { Brand } from '../shell/brand.tsx'
import { usePageTitle } from '../shell/page.tsx'
import { Button, buttonClass } from '../ui/button.tsx'
import { ErrorNotice, Patience, Skeleton } from '../ui/notice.tsx'
import { askDemo, demoQuery, publicPlansQuery } from './start-api.ts'

const promises: readonly { title: string; text: string; Icon: LucideIcon }[] = [
  {
    title: 'Isolated agents',
    text: 'Each agent has its own gateway, memory and files, and runs isolated from the others. Idle agents sleep and wake when a message arrives.',
    Icon: MessagesSquare,
  },
  {
    title: 'Usage you can see',
    text: 'All model calls go through one gateway. Each answer shows its cost, and limits apply before money is spent.',
    Icon: ChartColumn,
  },
  {
    title: 'Self-healing',
    text: 'A watchdog monitors each agent, repairs it automatically and notifies you when it cannot. Failed updates roll back by themselves.',
    Icon: Activity,
  },
  {
    title: 'You own your data',
    text: 'One program and one database, on your machine or ours. Export or delete everything at any time.',
    Icon: ShieldCheck,
  },
]

export function LandingPage() {
  usePageTitle('Your own AI agents, always on')
  const offers = useQuery(publicPlansQuery).data
  return (
    <div className="min-h-dvh">
      <TopBar />
      <main>
        <section className="mx-auto grid max-w-6xl items-center gap-10 px-5 pt-8 pb-14 sm:px-8 sm:pt-14 lg:has-[section]:grid-cols-[minmax(0,1.05fr)_minmax(0,1fr)] lg:gap-14">
          <div className="grid grid-cols-1 justify-items-start gap-5">
            <h1 className="text-4xl leading-[1.1] font-semibold sm:text-5xl">Your own AI agents, always on</h1>
            <p className="max-w-xl text-lg text-muted">
              Create an agent, chat with it seconds later, and let it keep working while you are away. See what it does,
              what it costs and how it is doing.
            </p>
            <div className="flex flex-wrap gap-2">
              {offers?.signUp !== 'closed' && (
                <Link to="/signup" className={`${buttonClass('primary')} min-h-11 px-5`}>
                  {offers?.signUp === 'invite' ? 'Sign up with an invitation' : 'Sign up'}
                </Link>
              )}
              <a href="/docs" className={`${buttonClass('plain')} min-h-11 px-5`}>
                Read the docs
              </a>
            </div>
            {offers?.signUp === 'closed' && <p className="text-sm text-muted">Sign-up is closed on this server.</p>}
          </div>
          <DemoChat />
        </section>
        <Promises />
        {offers && offers.plans.length > 0 && <Plans offers={offers} />}
      </main>
      <Footer />
    </div>
  )
}

function TopBar() {
  return (
    <header className="mx-auto flex max-w-6xl items-center justify-between gap-3 px-5 py-4 sm:px-8">
      <Brand />
      <nav aria-label="Main" className="flex items-center gap-1">
        <a href="/docs" className={`${buttonClass('ghost')} max-sm:hidden`}>
          Documentation
        </a>
        <Link to="/login" className={buttonClass('plain')}>
          Sign in
        </Link>
      </nav>
    </header>
  )
}

function Promises() {
  return (
    <section aria-label="Features" className="border-y border-line bg-surface">
      <ul className="mx-auto grid max-w-6xl gap-x-10 gap-y-8 px-5 py-12 sm:grid-cols-2 sm:px-8">
        {promises.map(({ title, text, Icon }) => (
          <li key={title} className="flex gap-4">
            <span
              aria-hidden
              className="grid size-10 shrink-0 place-items-center rounded-lg bg-accent-soft text-accent"
            >
              <Icon className="size-5" />
            </span>
            <div className="grid content-start gap-1">
              <h2 className="font-semibold">{title}</h2>
              <p className="text-muted">{text}</p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Footer() {
  return (
    <footer className="relative mt-14 overflow-hidden border-t border-line">
      <div aria-hidden className="absolute inset-0 opacity-35">
        <FieldsPicture />
      </div>
      <div className="relative mx-auto flex max-w-6xl flex-wrap items-center justify-between gap-4 px-5 py-10 sm:px-8">
        <span className="rounded-lg bg-ground px-3 py-2">
          <Brand />
        </span>
        <nav aria-label="Links" className="flex flex-wrap gap-x-5 gap-y-2 rounded-lg bg-ground px-4 py-2 text-sm">
          <a href="/docs" className="hover:underline">
            Documentation
          </a>
          <a href="/docs/api" className="hover:underline">
            API
          </a>
          <Link to="/login" className="hover:underline">
            Sign in
          </Link>
        </nav>
      </div>
    </footer>
  )
}

export function Plans({ offers: { plans, currency, signUp } }: { offers: PlanList }) {
  const money = new Intl.NumberFormat('en-GB', { style: 'currency', currency, maximumFractionDigits: 0 })
  return (
    <section aria-labelledby="plans" className="mx-auto grid max-w-6xl gap-6 px-5 pt-14 sm:px-8">
      <div className="grid gap-1">
        <h2 id="plans" className="text-2xl font-semibold">
          Plans
        </h2>
        <p className="text-muted">
          Billed monthly, cancel anytime. With your own provider keys, you pay the provider for models.
        </p>
      </div>
      <ul className="grid gap-4 sm:grid-cols-2 lg:grid-cols-4">
        {plans.map(({ name, price, features }) => (
          <li key={name} className="flex flex-col gap-4 rounded-xl border border-line bg-surface p-5">
            <h3 className="font-semibold">{name}</h3>
            <p>
              <span className="text-3xl font-semibold tabular-nums">{money.format(price)}</span>
              <span className="text-muted"> per month</span>
            </p>
            <ul className="grid flex-1 content-start gap-2 text-sm">
              {features.map((feature) => (
                <li key={feature} className="flex gap-2">
                  <Check aria-hidden className="mt-0.5 size-4 shrink-0 text-accent" />
                  {feature}
                </li>
              ))}
            </ul>
            {signUp !== 'closed' && (
              <Link
                to="/signup"
                search={{ redirect: '/billing' }}
                aria-label={`Choose ${name}`}
                className={buttonClass('plain')}
              >
                Choose {name}
              </Link>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

type Line = { id: number; who: 'you' | 'model'; text: string; tokens?: number }

const MAX_CHARACTERS = 1_000
const openings = ['Plan a weekend by the sea', 'Explain tides to a child', 'Write a haiku about a lighthouse']

/** Chat with a real model for visitors without an account. Renders nothing when the demo is not configured. */
export function DemoChat() {
  const { data, error } = useQuery(demoQuery)
  const model = data?.models.find(({ available }) => available)
  if (!model && (data || error)) return null
  return (
    <section
      aria-label="Demo"
      className="flex min-h-96 min-w-0 flex-col overflow-hidden rounded-xl border border-line bg-surface shadow-lifted"
    >
      <div className="flex items-center gap-3 border-b border-line px-4 py-3">
        <FieldMark seed="house" className="size-8" />
        <div className="grid min-w-0">
          <h2 className="font-semibold">Try it without an account</h2>
          <p className="truncate text-sm text-muted">
            {model ? `Answers from ${model.name}, within a daily budget` : 'Loading'}
          </p>
        </div>
      </div>
      {model ? <Talk model={model.id} /> : <Skeleton className="m-4 h-40" />}
    </section>
  )
}

function Talk({ model }: { model: string }) {
  const id = useId()
  const [lines, setLines] = useState<Line[]>([])
  const [text, setText] = useState('')
  const logRef = useRef<HTMLDivElement>(null)
  const asking = useMutation({
    mutationFn: (message: string) =>
      askDemo({
        message,
        model,
        conversation: lines.filter(({ who }) => who === 'you').map((line) => ({ role: 'user', content: line.text })),
      }),
    onSuccess: ({ message, usage }, question) => {
      const answer: Line = { id: lines.length + 1, who: 'model', text: message, tokens: usage.total_tokens }
      setLines([...lines, { id: lines.length, who: 'you', text: question }, answer])
      setText('')
    },
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls to each new line
  useEffect(() => {
    const log = logRef.current
    if (log) log.scrollTop = log.scrollHeight
  }, [lines.length, asking.isPending])
  const ask = (message: string) => {
    if (message.trim() !== '' && !asking.isPending) asking.mutate(message.trim())
  }
  return (
    <>
      <div
        ref={logRef}
        role="log"
        aria-label="Conversation"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        tabIndex={0}
        className="flex max-h-96 flex-1 flex-col gap-3 overflow-y-auto px-4 py-4 -outline-offset-2"
      >
        {lines.length === 0 && !asking.isPending && <Openings ask={ask} />}
        {lines.map((line) => (
          <DemoLine key={line.id} line={line} />
        ))}
        {asking.isPending && <DemoLine line={{ id: -1, who: 'you', text: asking.variables }} />}
        <Patience isPending={asking.isPending}>The model is answering…</Patience>
        <ErrorNotice error={asking.error} />
      </div>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          ask(text)
        }}
        className="flex items-center gap-2 border-t border-line p-3"
      >
        <label htmlFor={id} className="sr-only">
          Message
        </label>
        <input
          id={id}
          value={text}
          maxLength={MAX_CHARACTERS}
          autoComplete="off"
          placeholder="Ask something"
          onChange={(event) => setText(event.target.value)}
          className="min-h-10 min-w-0 flex-1 rounded-md border border-edge bg-surface px-3 text-base placeholder:text-muted sm:text-[0.9375rem]"
        />
        <Button
          Icon={ArrowUp}
          type="submit"
          look="primary"
          aria-label="Send"
          isPending={asking.isPending}
          className="min-h-10"
        />
      </form>
    </>
  )
}

function Openings({ ask }: { ask: (message: string) => void }) {
  return (
    <div className="m-auto flex flex-wrap justify-center gap-2">
      {openings.map((opening) => (
        <Button key={opening} onClick={() => ask(opening)} className="whitespace-normal!">
          {opening}
        </Button>
      ))}
    </div>
  )
}

function DemoLine({ line: { who, text, tokens } }: { line: Line }) {
  const isYours = who === 'you'
  return (
    <div
      className={`max-w-[88%] rounded-xl px-3.5 py-2.5 ${isYours ? 'self-end bg-accent-soft' : 'self-start bg-sunken'}`}
    >
      <span className="sr-only">{isYours ? 'You: ' : 'Model: '}</span>
      <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>
      {tokens !== undefined && (
        <p className="mt-1 text-xs text-muted tabular-nums">{tokens.toLocaleString('en')} tokens</p>
      )}
    </div>
  )
}
