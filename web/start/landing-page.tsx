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
    title: 'An agent of its own',
    text: 'Each agent gets its own gateway, memory and files, and runs apart from all others. It sleeps when nobody needs it and wakes when somebody writes.',
    Icon: MessagesSquare,
  },
  {
    title: 'Every token is counted',
    text: 'Agents ask models through one gateway. What an answer cost stands below it, and limits hold before the money is spent.',
    Icon: ChartColumn,
  },
  {
    title: 'Kept running',
    text: 'A watchdog looks after each agent, repairs what it can, and tells you when it cannot. Updates go back by themselves when they fail.',
    Icon: Activity,
  },
  {
    title: 'Yours to hold',
    text: 'One program and one database, on your machine or ours. Take everything with you at any time, or have it forgotten.',
    Icon: ShieldCheck,
  },
]

/** `/` for strangers: what Stead is, something to try, what it costs, and the way in. */
export function LandingPage() {
  usePageTitle('AI agents with a home of their own')
  const offers = useQuery(plansQuery).data
  return (
    <div className="min-h-dvh">
      <TopBar />
      <main>
        <section className="mx-auto grid max-w-6xl items-center gap-10 px-5 pt-8 pb-14 sm:px-8 sm:pt-14 lg:grid-cols-[minmax(0,1.05fr)_minmax(0,1fr)] lg:gap-14">
          <div className="grid grid-cols-1 justify-items-start gap-5">
            <h1 className="text-4xl leading-[1.1] font-semibold sm:text-5xl">AI agents with a home of their own</h1>
            <p className="max-w-xl text-lg text-muted">
              Create an agent, talk to it seconds later, and let it keep working while you are away. You see what it
              does, what it costs, and how it is.
            </p>
            <div className="flex flex-wrap gap-2">
              {offers?.signUp !== 'closed' && (
                <Link to="/signup" className={`${buttonClass('primary')} min-h-11 px-5`}>
                  {offers?.signUp === 'invite' ? 'Sign up with an invitation' : 'Create an account'}
                </Link>
              )}
              <a href="/docs" className={`${buttonClass('plain')} min-h-11 px-5`}>
                Read how it works
              </a>
            </div>
            {offers?.signUp === 'closed' && (
              <p className="text-sm text-muted">This server takes no new accounts. Who has one signs in.</p>
            )}
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
    <section aria-label="What it does" className="border-y border-line bg-surface">
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
        <nav aria-label="More" className="flex flex-wrap gap-x-5 gap-y-2 rounded-lg bg-ground px-4 py-2 text-sm">
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
