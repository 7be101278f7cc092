import { memo, type ReactNode } from 'react'
import type { ChatMessage } from '../../src/features/talk/chat/schemas.ts'
import { ReplyText } from './reply-text.tsx'

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
  const { sender, content, status, timestamp } = message
  const remark = REMARKS[status][sender]
  return (
    <MessageFrame sender={sender} agentName={agentName} timestamp={timestamp} remark={remark}>
      <ReplyText text={content} />
    </MessageFrame>
  )
})

type MessageFrameProps = {
  sender: ChatMessage['sender']
  agentName: string
  timestamp: string
  remark: ReactNode
  children: ReactNode
}

/** Who said something and when, around what was said. */
export function MessageFrame({ sender, agentName, timestamp, remark, children }: MessageFrameProps) {
  const isMine = sender === 'user'
  const when = new Date(timestamp)
  return (
    <li
      className={`grid max-w-full grid-cols-1 gap-1 ${isMine ? 'justify-items-end pl-8 sm:pl-20' : 'justify-items-start sm:pr-10'}`}
    >
      <p className="text-xs text-muted">
        <span className="mr-1.5 font-medium">{isMine ? 'You' : agentName}</span>
        <time dateTime={timestamp} title={full.format(when)}>
          {time.format(when)}
        </time>
        {remark && <span className="text-bad"> · {remark}</span>}
      </p>
      <div className={`max-w-full min-w-0 ${isMine ? 'rounded-xl rounded-tr-sm bg-accent-soft px-3.5 py-2' : ''}`}>
        {children}
      </div>
    </li>
  )
}
