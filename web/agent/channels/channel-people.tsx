import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { AgentChannel, ChannelPairing, ChannelPerson } from '../../../src/features/agents/channels/schemas.ts'
import type { ChannelConversation } from '../../../src/features/conversations/chat/schemas.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Moment } from '../../ui/moment.tsx'
import { ErrorNotice, Loaded, Skeleton } from '../../ui/notice.tsx'
import { conversationQuery, conversationsQuery, decidePairing, removePerson } from './channels-api.ts'

type ChannelPeopleProps = { agentId: string; channel: AgentChannel; title: string }

export function ChannelPeople({ agentId, channel: { name, people, pairings }, title }: ChannelPeopleProps) {
  return (
    <>
      {pairings.length > 0 && (
        <List label={`Pairing requests on ${title}`}>
          {pairings.map((pairing) => (
            <Waiting key={pairing.code} agentId={agentId} channel={name} pairing={pairing} />
          ))}
        </List>
      )}
      {people.length > 0 && (
        <List label={`Allowed senders on ${title}`}>
          {people.map((person) => (
            <Person key={person.id} agentId={agentId} channel={name} person={person} />
          ))}
        </List>
      )}
    </>
  )
}

function List({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="grid grid-cols-1 gap-2">
      <h3 className="text-sm font-semibold">{label}</h3>
      <ul aria-label={label} className="divide-y divide-line rounded-md border border-line">
        {children}
      </ul>
    </div>
  )
}

function Waiting({ agentId, channel, pairing }: { agentId: string; channel: string; pairing: ChannelPairing }) {
  const { code, name, id, expiresAt } = pairing
  const decision = useMutation({
    mutationFn: (approve: boolean) => decidePairing(agentId, { channel, code, approve }),
  })
  return (
    <li className="grid min-w-0 grid-cols-1 gap-2 p-3 wrap-anywhere">
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <span className="font-medium">{name}</span>
        <span className="text-sm text-muted">{id}</span>
        <code className="font-mono text-sm">{code}</code>
        <span className="text-sm text-muted">
          Expires <Moment at={expiresAt} as="distance" />
        </span>
      </p>
      <p className="text-sm text-muted">Approve only if this code matches the one the sender received.</p>
      <div className="flex flex-wrap gap-2">
        <Button
          look="primary"
          aria-label={`Approve ${name}`}
          isPending={decision.isPending}
          onClick={() => decision.mutate(true)}
        >
          Approve
        </Button>
        <Button aria-label={`Deny ${name}`} isPending={decision.isPending} onClick={() => decision.mutate(false)}>
          Deny
        </Button>
      </div>
      <ErrorNotice error={decision.error} />
    </li>
  )
}

function Person({ agentId, channel, person }: { agentId: string; channel: string; person: ChannelPerson }) {
  const { id, name, since, isConfigured } = person
  const removal = useMutation({ mutationFn: () => removePerson(agentId, { channel, personId: id }) })
  return (
    <li className="flex min-w-0 flex-wrap items-center gap-x-2.5 gap-y-1 p-3 wrap-anywhere">
      <span className="font-medium">{name ?? id}</span>
      {name && <span className="text-sm text-muted">{id}</span>}
      {since && (
        <span className="text-sm text-muted">
          since <Moment at={since} />
        </span>
      )}
      {isConfigured ? (
        <Badge>From settings</Badge>
      ) : (
        <Button aria-label={`Remove ${name ?? id}`} isPending={removal.isPending} onClick={() => removal.mutate()}>
          Remove
        </Button>
      )}
      <ErrorNotice error={removal.error} />
    </li>
  )
}

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
