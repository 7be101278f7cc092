import { Check, Copy, Pencil, RotateCw } from 'lucide-react'
import { useState } from 'react'
import type { ChatMessage, TurnSummary } from '../../src/features/conversations/chat/schemas.ts'
import { IconButton } from '../ui/button.tsx'
import { copyText } from '../ui/copy-button.tsx'
import { toDuration } from './tool-folds.tsx'

type MessageActionsProps = {
  message: ChatMessage
  onRetry: (() => void) | undefined
  onEdit: (() => void) | undefined
}

/** Visible on hover and keyboard focus, and always on touch devices. */
export function MessageActions({ message, onRetry, onEdit }: MessageActionsProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-1 opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 [@media(hover:none)]:opacity-100">
      <CopyMessage text={message.content} />
      {onEdit && (
        <IconButton label="Edit message" className="size-8" onClick={onEdit}>
          <Pencil aria-hidden className="size-3.5" />
        </IconButton>
      )}
      {onRetry && (
        <IconButton label={message.sender === 'user' ? 'Resend' : 'Regenerate'} className="size-8" onClick={onRetry}>
          <RotateCw aria-hidden className="size-3.5" />
        </IconButton>
      )}
      {message.turn && <Figures turn={message.turn} />}
    </div>
  )
}

function CopyMessage({ text }: { text: string }) {
  const [isCopied, setCopied] = useState<boolean | null>(null)
  const Icon = isCopied ? Check : Copy
  return (
    <>
      <IconButton label="Copy message" className="size-8" onClick={() => void copyText(text).then(setCopied)}>
        <Icon aria-hidden className="size-3.5" />
      </IconButton>
      <span role="status" className={isCopied === false ? 'text-xs text-bad' : 'sr-only'}>
        {isCopied === null ? '' : isCopied ? 'Copied' : 'Select and copy it'}
      </span>
    </>
  )
}

const dollars = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumSignificantDigits: 3 })

const ENDED: Readonly<Record<NonNullable<TurnSummary['endedBy']>, string>> = {
  loop: 'stopped: loop detected',
  cost: 'stopped: turn cost limit reached',
  steps: 'stopped: turn limit reached',
}

/** Such as `openai/gpt-4o-mini · 1,500 tokens · $0.00045 · 2.1 s`. */
function Figures({
  turn: { model, inputTokens, outputTokens, costUsd, durationMs, endedBy, restarts },
}: {
  turn: TurnSummary
}) {
  const isCounted = inputTokens !== null && outputTokens !== null
  const parts = [
    model,
    isCounted ? `${(inputTokens + outputTokens).toLocaleString('en')} tokens` : null,
    costUsd === null ? null : dollars.format(costUsd),
    durationMs === null ? null : toDuration(durationMs),
    restarts === 0 ? null : 'retried after an interruption',
    endedBy === null ? null : ENDED[endedBy],
  ].filter((part) => part !== null)
  const split = isCounted
    ? `${inputTokens.toLocaleString('en')} input, ${outputTokens.toLocaleString('en')} output`
    : undefined
  return (
    <span title={split} className="px-1 text-xs text-muted tabular-nums">
      {parts.join(' · ')}
    </span>
  )
}
