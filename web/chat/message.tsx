import { Check, Copy, Pencil, Play, RotateCw } from 'lucide-react'
import { memo, type ReactNode, useState } from 'react'
import type { ChatMessage, TurnSummary } from '../../src/features/conversations/chat/schemas.ts'
import { Button, IconButton } from '../ui/button.tsx'
import { copyText } from '../ui/copy-button.tsx'
import { Moment } from '../ui/moment.tsx'
import { AgentText } from './agent-text.tsx'
import { FileChips } from './attachments.tsx'
import { EditMessage } from './composer.tsx'
import { ReplyText } from './reply-text.tsx'
import { INTERRUPTED } from './shown-turn.ts'
import { EndedToolFolds, toDuration } from './tool-folds.tsx'

const REMARKS: Record<ChatMessage['status'], Record<ChatMessage['sender'], string | null>> = {
  sent: { user: null, agent: null },
  stopped: { user: 'Stopped', agent: 'Stopped' },
  failed: { user: 'No reply', agent: 'Incomplete' },
}

/** Null while a reply is in progress or the agent cannot receive messages. */
export type MessageWays = {
  onResend: (message: ChatMessage, text: string) => void
  /** Asks the agent to continue after an interrupted turn. */
  onContinue: () => void
} | null

type MessageProps = {
  message: ChatMessage
  agentName: string
  /** The question that can be retried. */
  question: ChatMessage | null
  /** Found by a search. */
  isTarget: boolean
  ways: MessageWays
}

/** Memoized, so that unchanged messages are not redrawn while a reply streams. */
const Message = memo(function Message({ message, agentName, question, isTarget, ways }: MessageProps) {
  const { id, sender, content, status, timestamp, turn, attachments, author } = message
  const [isEdited, setEdited] = useState(false)
  const isMine = sender === 'user'
  if (isEdited && ways) {
    return (
      <li>
        <EditMessage
          message={message}
          onSend={(text) => ways.onResend(message, text)}
          onClose={() => setEdited(false)}
        />
      </li>
    )
  }
  return (
    <MessageFrame
      id={id}
      sender={sender}
      agentName={agentName}
      author={author}
      timestamp={timestamp}
      remark={REMARKS[status][sender]}
      isTarget={isTarget}
      actions={
        <MessageActions
          message={message}
          onRetry={question && ways ? () => ways.onResend(question, question.content) : undefined}
          onEdit={isMine && ways ? () => setEdited(true) : undefined}
        />
      }
    >
      {turn && <EndedToolFolds turn={turn} />}
      {isMine ? <ReplyText text={content} /> : <AgentText text={content} />}
      {attachments && <FileChips files={attachments} />}
    </MessageFrame>
  )
})

type MessageFrameProps = {
  id?: string
  sender: ChatMessage['sender']
  agentName: string
  /** The sender on another platform; null for the user. */
  author?: string | null
  timestamp: string
  remark: ReactNode
  isTarget?: boolean
  /** Always takes its space, so that the layout does not move. */
  actions?: ReactNode
  children: ReactNode
}

export function MessageFrame({
  id,
  sender,
  agentName,
  author,
  timestamp,
  remark,
  isTarget,
  actions,
  children,
}: MessageFrameProps) {
  const isMine = sender === 'user'
  return (
    <li
      data-message={id}
      tabIndex={isTarget ? -1 : undefined}
      className={`group grid max-w-full scroll-my-16 grid-cols-1 gap-1 rounded-lg ${isTarget ? 'outline-2 outline-offset-4 outline-accent' : ''} ${isMine ? 'justify-items-end pl-8 sm:pl-20' : 'justify-items-start'}`}
    >
      <p className="text-xs text-muted">
        <span className="mr-1.5 font-medium">{isMine ? (author ?? 'You') : agentName}</span>
        <Moment at={timestamp} as="clock" />
        {remark && <span className="text-bad"> · {remark}</span>}
      </p>
      <div
        className={`max-w-full min-w-0 ${isMine ? 'rounded-xl rounded-tr-sm bg-accent-soft px-3.5 py-2' : 'w-full'}`}
      >
        {children}
      </div>
      <div className="min-h-8 max-w-full">{actions}</div>
    </li>
  )
}

type MessageActionsProps = {
  message: ChatMessage
  onRetry: (() => void) | undefined
  onEdit: (() => void) | undefined
}

/** Visible on hover and keyboard focus, and always on touch devices. */
function MessageActions({ message, onRetry, onEdit }: MessageActionsProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-1 opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100 [@media(hover:none)]:opacity-100">
      <CopyMessage text={message.content} />
      {onEdit && <IconButton Icon={Pencil} label="Edit message" className="size-8" onClick={onEdit} />}
      {onRetry && (
        <IconButton
          Icon={RotateCw}
          label={message.sender === 'user' ? 'Ask again' : 'Regenerate'}
          className="size-8"
          onClick={onRetry}
        />
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
      <IconButton
        Icon={Icon}
        label="Copy message"
        className="size-8"
        onClick={() => void copyText(text).then(setCopied)}
      />
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

type MessagesProps = {
  messages: readonly ChatMessage[]
  agentName: string
  /** The message found by a search. */
  target: string | null
  /** A reply in progress, or its outcome, is shown below. */
  hasTurn: boolean
  ways: MessageWays
}

/** Offers a retry when the last question got no complete answer. */
export const MessageRows = memo(function MessageRows({ messages, agentName, target, hasTurn, ways }: MessagesProps) {
  const question = hasTurn ? null : (messages.findLast(({ sender }) => sender === 'user') ?? null)
  const last = messages.at(-1)
  return (
    <>
      {messages.map((message) => (
        <Message
          key={message.id}
          message={message}
          agentName={agentName}
          question={message === question || message === last ? question : null}
          isTarget={message.id === target}
          ways={ways}
        />
      ))}
      {question && ways && last && last.status !== 'sent' && (
        <li className="flex flex-wrap gap-2">
          {last.turn?.errorCode === INTERRUPTED && (
            <Button Icon={Play} look="primary" onClick={ways.onContinue}>
              Continue
            </Button>
          )}
          <Button Icon={RotateCw} onClick={() => ways.onResend(question, question.content)}>
            Retry
          </Button>
        </li>
      )}
    </>
  )
})
