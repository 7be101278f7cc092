import { Check, Copy } from 'lucide-react'
import { useState } from 'react'
import { Button, type ButtonLook } from './button.tsx'

type CopyState = 'idle' | 'copied' | 'failed'

const labels: Record<CopyState, string> = { idle: 'Copy', copied: 'Copied', failed: 'Select and copy it' }

/** `what` names the text for screen readers. Asks for a manual copy where the browser refuses (plain HTTP). */
export function CopyButton({ text, what, look = 'plain' }: { text: string; what: string; look?: ButtonLook }) {
  const [state, setState] = useState<CopyState>('idle')
  const copy = async () => setState((await copyText(text)) ? 'copied' : 'failed')
  const Icon = state === 'copied' ? Check : Copy
  return (
    <>
      <Button Icon={Icon} look={look} aria-label={`Copy ${what}`} onClick={() => void copy()}>
        {labels[state]}
      </Button>
      <span role="status" className="sr-only">
        {state !== 'idle' && labels[state]}
      </span>
    </>
  )
}

/** @returns false where the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

export function Address({ label, address, what = 'URL' }: { label: string; address: string; what?: string }) {
  return (
    <div className="grid grid-cols-1 gap-1.5">
      <p className="text-sm text-muted">{label}</p>
      <div className="flex flex-wrap items-center gap-2">
        <code className="rounded-md bg-sunken px-2.5 py-1.5 font-mono text-[0.8125rem] break-all">{address}</code>
        <CopyButton text={address} what={what} />
      </div>
    </div>
  )
}
