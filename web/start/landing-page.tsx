import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Activity, ChartColumn, type LucideIcon, MessagesSquare, ShieldCheck } from 'lucide-react'
import { FieldsPicture } from '../account/fields-picture.tsx'
import { Brand } from '../shell/brand.tsx'
import { usePageTitle } from '../shell/page.tsx'
import { buttonClass } from '../ui/button.tsx'
import { DemoChat } from './demo-chat.tsx'
import { Plans } from './plans.tsx'
import { plansQuery } from './start-api.ts'

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
  const offers = useQuery(plansQuery).data
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
