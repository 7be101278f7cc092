import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { useState } from 'react'
import type { Key } from '../../src/features/accounts/keys/schemas.ts'
import { ApiError } from '../api/request.ts'
import { Requests } from '../cost/requests.tsx'
import { KeyExamples } from '../keys/key-examples.tsx'
import { KeyBadges, KeyDates } from '../keys/key-facts.tsx'
import { type FreshKey, RawKey } from '../keys/raw-key.tsx'
import { Page } from '../shell/page.tsx'
import { buttonClass } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { KeyActions } from './key-actions.tsx'
import { keyQuery } from './key-api.ts'
import { KeyLimits } from './key-limits.tsx'
import { KeyUse } from './key-use.tsx'

const route = getRouteApi('/signed-in/keys/$keyId')

/** Page `/keys/:id`. */
export function KeyPage() {
  const { keyId } = route.useParams()
  const query = useQuery(keyQuery(keyId))
  const isGone = query.error instanceof ApiError && query.error.status === 404
  return (
    <Page
      title={query.data?.name ?? (isGone ? 'Key not found' : 'API key')}
      lead={
        <Link to="/settings/keys" className="inline-flex items-center gap-1.5 text-accent underline underline-offset-2">
          <ArrowLeft aria-hidden className="size-4" />
          All API keys
        </Link>
      }
    >
      {isGone ? (
        <Notice tone="note" title="API key not found">
          <p>It was deleted or belongs to another account.</p>
          <Link to="/settings/keys" className={`${buttonClass('plain')} justify-self-start`}>
            Show all API keys
          </Link>
        </Notice>
      ) : (
        <Loaded query={query} what="key" placeholder={<Loading />}>
          {(apiKey) => <OneKey key={apiKey.id} apiKey={apiKey} />}
        </Loaded>
      )}
    </Page>
  )
}

function OneKey({ apiKey }: { apiKey: Key }) {
  const [fresh, setFresh] = useState<FreshKey | null>(null)
  return (
    <>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="grid min-w-0 grid-cols-1 gap-1.5">
          <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <KeyBadges apiKey={apiKey} />
          </p>
          <KeyDates apiKey={apiKey} />
        </div>
        <KeyActions apiKey={apiKey} onRotated={setFresh} />
      </div>
      {fresh && <RawKey key={fresh.key} fresh={fresh} onDone={() => setFresh(null)} />}
      <KeyUse keyId={apiKey.id} />
      <KeyLimits apiKey={apiKey} />
      <Section
        title="Usage example"
        lead="Replace YOUR_KEY with your key. Keys are shown only once, when they are created."
      >
        <div className="grid grid-cols-1 rounded-lg bg-sunken p-3">
          <KeyExamples secret="YOUR_KEY" allowed={apiKey.limits.models} />
        </div>
      </Section>
      <Requests chosen={{ key: apiKey.id }} />
    </>
  )
}

function Loading() {
  return (
    <LoadingShapes what="key" className="grid gap-6">
      <Skeleton className="h-12 w-80 max-w-full" />
      <Skeleton className="h-40 rounded-xl" />
      <Skeleton className="h-80 rounded-xl" />
    </LoadingShapes>
  )
}
