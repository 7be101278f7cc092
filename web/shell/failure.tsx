import { useQuery } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { sessionQuery } from '../account/session.ts'
import { messageFor } from '../api/request.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Brand } from './brand.tsx'
import { Page, usePageTitle } from './page.tsx'
import { Shell, useIsInShell } from './shell.tsx'

const frameClass = 'mx-auto grid min-h-dvh max-w-md content-center justify-items-start gap-4 px-6 py-12'

export function Failure({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  usePageTitle('Something went wrong')
  const retry = async () => {
    await router.invalidate()
    reset()
  }
  return (
    <section className={frameClass}>
      <Apology title="This page could not be displayed" text={messageFor(error)} />
      <Button look="primary" onClick={() => void retry()}>
        Retry
      </Button>
    </section>
  )
}

export function NotFound() {
  const { data, error } = useQuery(sessionQuery)
  const isInShell = useIsInShell()
  if (data?.user) {
    const page = (
      <Page title={nowhere.title} lead={nowhere.text}>
        <Link to="/" className={`${buttonClass('primary')} justify-self-start`}>
          Go home
        </Link>
      </Page>
    )
    return isInShell ? page : <Shell>{page}</Shell>
  }
  return data || error ? <LostStranger /> : <Pending />
}

const nowhere = { title: 'Page not found', text: 'The URL is wrong or the page was removed.' }

function LostStranger() {
  usePageTitle('Not found')
  return (
    <main className={frameClass}>
      <Apology {...nowhere} />
      <Link to="/" className={buttonClass('primary')}>
        Go home
      </Link>
    </main>
  )
}

const SLOW_MS = 5_000

/** Offers a retry after five seconds. */
export function Pending() {
  const isInShell = useIsInShell()
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_MS)
    return () => clearTimeout(timer)
  }, [])
  const Frame = isInShell ? 'div' : 'main'
  return (
    <Frame
      aria-busy="true"
      className={`grid content-center justify-items-center gap-4 px-6 ${isInShell ? 'flex-1 py-24' : 'min-h-dvh'}`}
    >
      <p role="status" className={isSlow ? 'text-muted' : 'animate-breathe text-muted'}>
        {isSlow ? 'This is taking longer than usual.' : 'Loading…'}
      </p>
      {isSlow && <Button onClick={() => window.location.reload()}>Retry</Button>}
    </Frame>
  )
}

function Apology({ title, text }: { title: string; text: string }) {
  return (
    <>
      <Brand />
      <h1 className="mt-4 text-2xl font-semibold">{title}</h1>
      <p className="text-muted">{text}</p>
    </>
  )
}
