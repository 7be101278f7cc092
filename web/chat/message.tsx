import { memo, type ReactNode } from 'react'
import type { ChatMessage, TurnSummary } from '../../src/features/talk/chat/schemas.ts'
import { FileChips } from './attachments.tsx'
import { ReplyText } from './reply-text.tsx'
import { EndedToolFolds, toDuration } from './tool-folds.tsx'

const time = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const full = new Intl.DateTimeFormat('en', { dateStyle: 'full', timeStyle: 'short' })

/** What stands beside a message that did not go as it should. */
const REMARKS: Record<ChatMessage['status'], Record<ChatMessage['sender'], string | null>> = {
  sent: { user: null, agent: null },
  stopped: { user: 'Stopped', agent: 'Stopped' },
  failed: { user: 'Not answered', agent: 'Incomplete' },
}

/** One message of the conversation; unchanged ones are not drawn again while a reply streams in. */
export const Message = memo(function Message({ message, agentName }: { message: ChatMessage; agentName: string }) {
  const { sender, content, status, timestamp, turn, attachments } = message
  const remark = REMARKS[status][sender]
  return (
    <MessageFrame
      sender={sender}
      agentName={agentName}
      timestamp={timestamp}
      remark={remark}
      figures={turn && toFigures(turn)}
    >
      {turn && <EndedToolFolds turn={turn} />}
      <ReplyText text={content} />
      {attachments && <FileChips files={attachments} />}
    </MessageFrame>
  )
})

type MessageFrameProps = {
  sender: ChatMessage['sender']
  agentName: string
  timestamp: string
  remark: ReactNode
  /** What an answer took; shown when one points at it. */
  figures?: string | undefined
  children: ReactNode
}

const dollars = new Intl.NumberFormat('en', { style: 'currency', currency: 'USD', maximumSignificantDigits: 3 })

/** What is known of a turn, such as `openai/gpt-4o-mini · 1,500 tokens · $0.00045 · 2.1 s`. */
function toFigures({ model, inputTokens, outputTokens, costUsd, durationMs }: TurnSummary): string {
  const tokens = inputTokens === null || outputTokens === null ? null : inputTokens + outputTokens
  const parts = [
    model,
    tokens === null ? null : `${tokens.toLocaleString('en')} tokens`,
    costUsd === null ? null : dollars.format(costUsd),
    durationMs === null ? null : toDuration(durationMs),
  ]
  return parts.filter((part) => part !== null).join(' · ')
}

/** Who said something and when, around what was said. */
export function MessageFrame({ sender, agentName, timestamp, remark, figures, children }: MessageFrameProps) {
  const isMine = sender === 'user'
  const when = new Date(timestamp)
  return (
    <li
      className={`group grid max-w-full grid-cols-1 gap-1 ${isMine ? 'justify-items-end pl-8 sm:pl-20' : 'justify-items-start sm:pr-10'}`}
    >
      <p className="text-xs text-muted">
        <span className="mr-1.5 font-medium">{isMine ? 'You' : agentName}</span>
        <time dateTime={timestamp} title={full.format(when)}>
          {time.format(when)}
        </time>
        {remark && <span className="text-bad"> · {remark}</span>}
        {figures && (
          <span className="opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100">
            {' '}
            · {figures}
          </span>
        )}
      </p>
      <div className={`max-w-full min-w-0 ${isMine ? 'rounded-xl rounded-tr-sm bg-accent-soft px-3.5 py-2' : ''}`}>
        {children}
      </div>
    </li>
  )
}
