import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useRouter } from '@tanstack/react-router'
import { LoaderCircle } from 'lucide-react'
import { createContext, type ReactNode, useContext, useEffect, useRef } from 'react'
import { AccountMenu } from '../account/account-menu.tsx'
import { sessionQuery } from '../account/session.ts'
import { useWaitingCount } from '../approvals/approvals-api.ts'
import { PaletteButton } from '../palette/palette-button.tsx'
import { ownZone } from '../schedule/zones.ts'
import { patchSettings, settingsQuery } from '../settings/settings-api.ts'
import { Waiting } from '../ui/badge.tsx'
import { Brand } from './brand.tsx'
import { useIsLost } from './connection.ts'
import { adminPlaces, places, quietPlaces } from './places.ts'

const placeClass =
  'min-h-9 items-center gap-2.5 rounded-md px-2.5 text-sm font-medium text-muted transition-colors hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:text-ink aria-[current=page]:[&_svg]:text-accent'

const InShell = createContext(false)

/** Returns whether the component is inside the shell, which has the page's one `main` element. */
export function useIsInShell(): boolean {
  return useContext(InShell)
}

/** Redirects to the sign-in page, and back here, once the session is gone. */
export function Shell({ children }: { children?: ReactNode }) {
  const user = useQuery(sessionQuery).data?.user
  useLeaveWhenSignedOut(user === null)
  useTimeZoneReport(Boolean(user))
  const mainRef = useFocusAfterNavigation()
  const waiting = useWaitingCount(Boolean(user))
  if (!user) return null
  return (
    <div className="flex min-h-dvh flex-col md:flex-row">
      <LostBanner />
      <a
        href="#main"
        className="sr-only z-30 rounded-md bg-accent px-4 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:top-3 focus:left-3"
      >
        Skip to content
      </a>
      <header className="sticky top-0 z-20 flex items-center gap-1 border-b border-line bg-ground px-3 py-2 sm:px-6 md:h-dvh md:w-56 md:shrink-0 md:flex-col md:items-stretch md:gap-6 md:border-r md:border-b-0 md:px-3 md:py-5">
        <Link to="/" aria-label="Stead home" className="rounded-md p-1 max-sm:[&_span_span]:sr-only md:px-2">
          <Brand />
        </Link>
        <div className="grid max-md:order-2">
          <PaletteButton isAdmin={user.isAdmin} />
        </div>
        <nav aria-label="Main" className="flex flex-1 max-md:order-1 gap-1 md:flex-col">
          {places.map(({ to, label, Icon }) => (
            <Link
              key={to}
              to={to}
              activeOptions={{ exact: to === '/' }}
              className={`${to === '/' ? 'hidden md:flex' : 'flex'} ${placeClass}`}
            >
              <Icon aria-hidden className="size-4.5" />
              {label}
            </Link>
          ))}
          {[...quietPlaces, ...(user.isAdmin ? adminPlaces : [])].map((place) => (
            <Link
              key={place.to}
              to={place.to}
              className={`hidden md:flex ${'startsGroup' in place ? 'mt-4' : ''} ${placeClass}`}
            >
              <place.Icon aria-hidden className="size-4.5" />
              {place.label}
              {place.to === '/approvals' && <Waiting count={waiting} className="ml-auto" />}
            </Link>
          ))}
        </nav>
        <div className="grid min-w-0 max-md:order-3">
          <AccountMenu user={user} waiting={waiting} />
        </div>
      </header>
      <main id="main" ref={mainRef} tabIndex={-1} className="flex min-w-0 flex-1 flex-col">
        <InShell value>{children ?? <Outlet />}</InShell>
      </main>
    </div>
  )
}

function useLeaveWhenSignedOut(isSignedOut: boolean): void {
  const navigate = useNavigate()
  const router = useRouter()
  useEffect(() => {
    if (!isSignedOut || router.state.location.pathname === '/login') return
    void navigate({ to: '/login', search: { redirect: router.state.location.href } })
  }, [isSignedOut, navigate, router])
}

/** Moves the focus to the new page's title, unless the page has focused a field. */
function useFocusAfterNavigation() {
  const router = useRouter()
  const mainRef = useRef<HTMLElement>(null)
  useEffect(
    () =>
      router.subscribe('onRendered', ({ pathChanged, fromLocation }) => {
        if (!pathChanged || !fromLocation) return
        if (document.activeElement?.matches('input, textarea, select')) return
        const target = mainRef.current?.querySelector('h1') ?? mainRef.current
        target?.focus({ preventScroll: true })
      }),
    [router],
  )
  return mainRef
}

/** Does not block clicks on the page below. */
function LostBanner() {
  const isLost = useIsLost()
  return (
    <p
      role="status"
      className="pointer-events-none fixed top-2 left-1/2 z-30 flex w-max max-w-[calc(100%-2rem)] -translate-x-1/2 items-center md:top-auto md:bottom-20 md:left-3 md:max-w-50 md:translate-x-0 gap-2 rounded-lg border border-line bg-warn-soft px-3 py-1.5 text-sm text-warn shadow-lifted empty:hidden"
    >
      {isLost && (
        <>
          <LoaderCircle aria-hidden className="size-4 shrink-0 animate-spin" />
          Connection lost. Reconnecting…
        </>
      )}
    </p>
  )
}

/** Reports the browser's time zone once for an account without one. A failure is retried on the next visit. */
function useTimeZoneReport(isSignedIn: boolean): void {
  const isUnknown = useQuery({ ...settingsQuery, enabled: isSignedIn }).data?.timeZone === null
  useEffect(() => {
    if (isUnknown) patchSettings({ timeZone: ownZone() }).catch(() => undefined)
  }, [isUnknown])
}
