import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { sessionQuery } from '../account/session.ts'
import { Pending } from '../shell/failure.tsx'
import { Shell } from '../shell/shell.tsx'

const OverviewPage = lazy(async () => ({ default: (await import('../overview/overview-page.tsx')).OverviewPage }))
const LandingPage = lazy(async () => ({ default: (await import('./landing-page.tsx')).LandingPage }))

/** Page `/`. */
export function StartPage() {
  const user = useQuery(sessionQuery).data?.user
  if (!user) {
    return (
      <Suspense fallback={<Pending />}>
        <LandingPage />
      </Suspense>
    )
  }
  return (
    <Shell>
      <Suspense>
        <OverviewPage />
      </Suspense>
    </Shell>
  )
}
