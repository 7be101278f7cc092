import { Play, RotateCw } from 'lucide-react'
import { memo } from 'react'
import type { ChatMessage } from '../../src/features/conversations/chat/schemas.ts'
import { Button } from '../ui/button.tsx'
import { Message, type MessageWays } from './message.tsx'
import { INTERRUPTED } from './shown-turn.ts'

type MessageListProps = {
  messages: readonly ChatMessage[]
  agentName: string
  /** The message found by a search. */
  target: string | null
  /** A reply in progress, or its outcome, is shown below. */
  hasTurn: boolean
  ways: MessageWays
}

/** Offers a retry when the last question got no complete answer. */
export const MessageList = memo(function MessageList({ messages, agentName, target, hasTurn, ways }: MessageListProps) {
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
            <Button look="primary" onClick={ways.onContinue}>
              <Play aria-hidden className="size-4" />
              Continue
            </Button>
          )}
          <Button onClick={() => ways.onResend(question, question.content)}>
            <RotateCw aria-hidden className="size-4" />
            Retry
          </Button>
        </li>
      )}
    </>
  )
})
