import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ToolCall, TurnSummary } from '../../src/features/conversations/chat/schemas.ts'
import { messageFor } from '../api/request.ts'
import { readTurn } from './chat-api.ts'

export function ToolFolds({ calls }: { calls: readonly ToolCall[] }) {
  return (
    <ul aria-label="Tools used" className="mb-2 grid grid-cols-1 gap-1 empty:hidden">
      {calls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: calls are only appended
        <Fold key={index} call={call} preview={call.arguments}>
          <ToolDetails call={call} />
        </Fold>
      ))}
    </ul>
  )
}

/** Arguments and results are loaded when a fold is opened. */
export function EndedToolFolds({ turn }: { turn: TurnSummary }) {
  return (
    <ul aria-label="Tools used" className="mb-2 grid grid-cols-1 gap-1 empty:hidden">
      {turn.toolCalls.map((call, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the list is final
        <Fold key={index} call={call}>
          <StoredDetails turnId={turn.id} index={index} />
        </Fold>
      ))}
    </ul>
  )
}

type FoldProps = {
  call: Pick<ToolCall, 'name' | 'success' | 'durationMs'>
  /** Arguments, shortened to one line. */
  preview?: string
  children: React.ReactNode
}

function Fold({ call: { name, success, durationMs }, preview, children }: FoldProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <li>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)} className="text-sm text-muted">
        <summary className="cursor-pointer truncate">
          <code className="font-mono text-[0.8125rem]">{name}</code> · {toDuration(durationMs)}
          {!success && <span className="text-bad"> · Failed</span>}
          {preview && !isOpen && <span className="font-mono text-[0.8125rem]"> · {preview}</span>}
        </summary>
        {isOpen && children}
      </details>
    </li>
  )
}

function StoredDetails({ turnId, index }: { turnId: string; index: number }) {
  const { data, error } = useQuery({
    queryKey: ['turn', turnId],
    queryFn: ({ signal }) => readTurn(turnId, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (error) return <p className="text-bad">{messageFor(error)}</p>
  const call = data?.toolCalls[index]
  return call ? <ToolDetails call={call} /> : <p>Loading…</p>
}

function ToolDetails({ call }: { call: ToolCall }) {
  return (
    <dl className="mt-1 grid max-h-80 overflow-y-auto grid-cols-1 gap-1 border-l border-line pl-3">
      <dt className="font-medium">Arguments</dt>
      <dd className="font-mono text-[0.8125rem] break-words whitespace-pre-wrap [overflow-wrap:anywhere]">
        {toReadable(call.arguments)}
      </dd>
      <dt className="font-medium">Result</dt>
      <dd className="font-mono text-[0.8125rem] break-words whitespace-pre-wrap [overflow-wrap:anywhere]">
        {toReadable(call.result)}
      </dd>
    </dl>
  )
}

/** Formats JSON; returns other or truncated text unchanged. */
function toReadable(text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : text
  } catch {
    return text
  }
}

/** Such as `40 ms` or `2.1 s`. */
export function toDuration(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`
}
