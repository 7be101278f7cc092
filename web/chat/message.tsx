import { memo, type ReactNode, useState } from 'react'
import type { ChatMessage } from '../../src/features/conversations/chat/schemas.ts'
import { Moment } from '../ui/moment.tsx'
import { AgentText } from './agent-text.tsx'
import { FileChips } from './attachments.tsx'
import { EditMessage } from './edit-message.tsx'
import { MessageActions } from './message-actions.tsx'
import { ReplyText } from './reply-text.tsx'
import { EndedToolFolds } from './tool-folds.tsx'

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
export const Message = memo(function Message({ message, agentName, question, isTarget, ways }: MessageProps) {
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
