import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { SettingsFrame } from '../settings/settings-frame.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { LoadingShapes, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { KeyForm } from './key-form.tsx'
import { KeyRow } from './key-row.tsx'
import { keysQuery } from './keys-api.ts'
import { type FreshKey, RawKey } from './raw-key.tsx'

/** Page `/settings/keys`. */
export function KeysPage() {
  const [fresh, setFresh] = useState<FreshKey | null>(null)
  return (
    <SettingsFrame
      title="API keys"
      lead="For programs that act on your behalf. Send the header Authorization: Bearer sk_…."
    >
      {fresh && <RawKey key={fresh.key} fresh={fresh} onDone={() => setFresh(null)} />}
      <Section title="Create key">
        <KeyForm onCreated={setFresh} />
      </Section>
      <Section title="API keys">
        <Keys onRotated={setFresh} />
      </Section>
    </SettingsFrame>
  )
}

function Keys({ onRotated }: { onRotated: (fresh: FreshKey) => void }) {
  const query = useQuery(keysQuery)
  if (query.data?.length === 0) return <p className="text-sm text-muted">No API keys yet</p>
  return (
    <Loaded
      query={query}
      what="keys"
      placeholder={
        <LoadingShapes what="keys" className="grid gap-3">
          <Skeleton className="h-10" />
          <Skeleton className="h-10" />
        </LoadingShapes>
      }
    >
      {(keys) => (
        <ul aria-label="API keys" className="-my-3 divide-y divide-line">
          {keys.map((key) => (
            <KeyRow key={key.id} apiKey={key} onRotated={onRotated} />
          ))}
        </ul>
      )}
    </Loaded>
  )
}
