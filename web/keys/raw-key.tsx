import { useEffect, useRef } from 'react'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Notice } from '../ui/notice.tsx'
import { KeyExamples } from './key-examples.tsx'

/** `replacedUntil` is when the old key expires; null when it already has. */
export type FreshKey = { name: string; key: string; replacedUntil?: string | null }

const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' })

export function RawKey({ fresh, onDone }: { fresh: FreshKey; onDone: () => void }) {
  const codeRef = useRef<HTMLElement>(null)
  useEffect(() => codeRef.current?.focus(), [])
  return (
    <Notice tone="good" title={`API key ${fresh.name}`}>
      <p>
        Copy the key now. It is not shown again. {fresh.replacedUntil !== undefined && describeOld(fresh.replacedUntil)}
      </p>
      <code
        ref={codeRef}
        tabIndex={-1}
        className="rounded-md bg-surface px-2.5 py-1.5 font-mono text-[0.8125rem] break-all select-all"
      >
        {fresh.key}
      </code>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={fresh.key} what="key" />
        <Button onClick={onDone}>Done</Button>
      </div>
      <KeyExamples secret={fresh.key} />
    </Notice>
  )
}

function describeOld(until: string | null): string {
  return until ? `The old key works until ${moment.format(new Date(until))}.` : 'The old key no longer works.'
}
