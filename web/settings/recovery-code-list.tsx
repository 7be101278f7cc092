import { useEffect, useRef } from 'react'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { Notice } from '../ui/notice.tsx'

export function RecoveryCodeList({ codes, email, onDone }: { codes: string[]; email: string; onDone: () => void }) {
  const listRef = useRef<HTMLUListElement>(null)
  useEffect(() => listRef.current?.focus(), [])
  return (
    <>
      <Notice tone="warning" title="Save your recovery codes">
        Each code signs you in once if you lose your phone. They are not shown again.
      </Notice>
      <ul
        ref={listRef}
        tabIndex={-1}
        aria-label="Recovery codes"
        className="grid max-w-md grid-cols-1 gap-x-6 gap-y-1.5 rounded-lg bg-sunken px-4 py-3 font-mono text-sm whitespace-nowrap sm:grid-cols-2"
      >
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-2">
        <CopyButton text={codes.join('\n')} what="recovery codes" />
        <Button onClick={() => download(`Recovery codes for ${email}\n\n${codes.join('\n')}\n`)}>Download</Button>
        <Button look="primary" onClick={onDone}>
          I have saved them
        </Button>
      </div>
    </>
  )
}

function download(text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/plain' }))
  link.download = 'recovery-codes.txt'
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
