import { useQuery } from '@tanstack/react-query'
import { type ErrorComponentProps, Link, useRouter } from '@tanstack/react-router'
import { sessionQuery } from '../account/session.ts'
import { messageFor } from '../api/request.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { Brand } from './brand.tsx'
import { Page, usePageTitle } from './page.tsx'
import { Shell } from './shell.tsx'

const frameClass = 'mx-auto grid min-h-dvh max-w-md content-center justify-items-start gap-4 px-6 py-12'

/** Stands in for a page that threw or could not be reached. */
export function Failure({ error, reset }: ErrorComponentProps) {
  const router = useRouter()
  usePageTitle('Something went wrong')
  const retry = async () => {
    await router.invalidate()
    reset()
  }
  return (
    <section className={frameClass}>
      <Apology title="This page could not be shown" text={messageFor(error)} />
      <Button look="primary" onClick={() => void retry()}>
        Try again
      </Button>
    </section>
  )
}

/** The answer to an address that leads nowhere; whoever is signed in keeps the frame with the ways to elsewhere. */
export function NotFound() {
  const { data, error } = useQuery(sessionQuery)
  if (data?.user) {
    return (
      <Shell>
        <Page title={nowhere.title} lead={nowhere.text}>
          <Link to="/" className={`${buttonClass('primary')} justify-self-start`}>
            Back to start
          </Link>
        </Page>
      </Shell>
    )
  }
  return data || error ? <LostStranger /> : <Pending />
}

const nowhere = { title: 'There is nothing here', text: 'The address may be mistyped, or what it named is gone.' }

function LostStranger() {
  usePageTitle('Not found')
  return (
    <main className={frameClass}>
      <Apology {...nowhere} />
      <Link to="/" className={buttonClass('primary')}>
        Back to start
      </Link>
    </main>
  )
}

/** Shown while the first answers of the server are under way. */
export function Pending() {
  return (
    <main aria-busy="true" className="grid min-h-dvh place-items-center">
      <p role="status" className="animate-breathe text-muted">
        Loading…
      </p>
    </main>
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
