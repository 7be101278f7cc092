import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ChannelPerson } from '../../../src/features/agents/channels/schemas.ts'
import type { ChannelConversation } from '../../../src/features/conversations/chat/schemas.ts'
import { Button } from '../../ui/button.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Skeleton } from '../../ui/notice.tsx'
import { conversationQuery, conversationsQuery } from './channels-api.ts'

type ConversationsProps = { agentId: string; channel: string; people: readonly ChannelPerson[] }

export function Conversations({ agentId, channel, people }: ConversationsProps) {
  return (
    <Loaded query={useQuery(conversationsQuery(agentId))} what="conversations" placeholder={null}>
      {(data) => {
        const here = data.filter((conversation) => conversation.channel === channel)
        if (here.length === 0) return null
        return (
          <div className="grid grid-cols-1 gap-2">
            <h3 className="text-sm font-semibold">Conversations</h3>
            <ul className="divide-y divide-line rounded-md border border-line">
              {here.map((conversation) => (
                <Conversation
                  key={conversation.session}
                  agentId={agentId}
                  conversation={conversation}
                  name={nameOf(conversation, people)}
                />
              ))}
            </ul>
          </div>
        )
      }}
    </Loaded>
  )
}

/** Private chats use the person's ID; other chats use the messenger's own name. */
function nameOf({ session, channel }: ChannelConversation, people: readonly ChannelPerson[]): string {
  const chat = session.slice(channel.length + 1)
  const [id] = chat.split(':')
  return people.find((person) => person.id === id)?.name ?? chat
}

type ConversationProps = { agentId: string; conversation: ChannelConversation; name: string }

function Conversation({ agentId, conversation, name }: ConversationProps) {
  const [isOpen, setOpen] = useState(false)
  const { session, messageCount, lastActivity } = conversation
  return (
    <li className="grid min-w-0 grid-cols-1 gap-2 p-3 wrap-anywhere">
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <span className="font-medium">{name}</span>
        <span className="text-sm text-muted">
          {messageCount} messages, <Moment at={lastActivity} as="distance" />
        </span>
        <Button
          aria-expanded={isOpen}
          aria-label={`${isOpen ? 'Hide' : 'Read'} the conversation with ${name}`}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? 'Hide' : 'Read'}
        </Button>
      </div>
      {isOpen && <Messages agentId={agentId} session={session} name={name} />}
    </li>
  )
}

function Messages({ agentId, session, name }: { agentId: string; session: string; name: string }) {
  const query = useQuery(conversationQuery(agentId, session))
  const authors = { user: name, assistant: 'Agent' }
  return (
    <Loaded query={query} what="conversation" placeholder={<Skeleton className="h-16" />}>
      {(messages) => (
        <ol aria-label={`Conversation with ${name}`} className="grid max-h-96 grid-cols-1 gap-3 overflow-y-auto">
          {messages.map(({ role, content, at }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: messages have no ids and are only appended
            <li key={index} className="text-sm">
              <p className="text-muted">
                {authors[role]}, <Moment at={at} as="minute" />
              </p>
              <p className="whitespace-pre-wrap">{content}</p>
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  )
}
