import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import {
  type AgentChannel,
  type ChannelPairing,
  type ChannelPerson,
  CONVERSATION_CHANNELS,
} from '../../../src/features/agents/channels/schemas.ts'
import type { WebAgent } from '../../../src/features/agents/registry/schemas.ts'
import { messageFor } from '../../api/request.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Moment } from '../../ui/moment.tsx'
import { LoadProblem, Notice } from '../../ui/notice.tsx'
import { Section } from '../../ui/section.tsx'
import { channelsQuery, decidePairing, removePerson } from './channels-api.ts'
import { Conversations } from './conversations.tsx'

const names: Readonly<Record<string, string>> = {
  telegram: 'Telegram',
  discord: 'Discord',
  slack: 'Slack',
  mail: 'Who may write mail',
}

/** How the messengers of a built-in agent are, who waits for its owner there, and who may write. Nothing for an agent without one. */
export function ChannelPeopleSection({ agent }: { agent: WebAgent }) {
  const { data, error, refetch } = useQuery(channelsQuery(agent.id))
  if (!data && error) return <LoadProblem what="Its messengers" error={error} onRetry={refetch} />
  if (!data || data.channels.length === 0) return null
  return (
    <>
      {data.channels.map((channel) => (
        <Channel key={channel.name} agentId={agent.id} channel={channel} />
      ))}
    </>
  )
}

function Channel({ agentId, channel }: { agentId: string; channel: AgentChannel }) {
  const { name, connected, since, account, lastError, people, pairings } = channel
  const title = names[name] ?? name
  return (
    <Section
      title={title}
      badge={<Badge tone={connected ? 'good' : 'problem'}>{connected ? 'Connected' : 'Not connected'}</Badge>}
      lead={
        <>
          {account}
          {since && (
            <>
              {' since '}
              <Moment at={since} as="minute" />
            </>
          )}
        </>
      }
    >
      {lastError && (
        <Notice tone={connected ? 'warning' : 'problem'}>
          {lastError.message} (<Moment at={lastError.at} as="distance" />)
        </Notice>
      )}
      {pairings.length > 0 && (
        <List label={`Who waits on ${title}`}>
          {pairings.map((pairing) => (
            <Waiting key={pairing.code} agentId={agentId} channel={name} pairing={pairing} />
          ))}
        </List>
      )}
      {people.length === 0 && (
        <p className="text-sm text-muted">
          Nobody may write to it yet: write to it yourself, and let yourself in here.
        </p>
      )}
      {people.length > 0 && (
        <List label={`Who may write on ${title}`}>
          {people.map((person) => (
            <Person key={person.id} agentId={agentId} channel={name} person={person} />
          ))}
        </List>
      )}
      {isMessenger(name) && <Conversations agentId={agentId} channel={name} people={people} />}
    </Section>
  )
}

/** What is said by mail stands in the inbox, and asking for it would wake the agent. */
function isMessenger(name: string): boolean {
  return (CONVERSATION_CHANNELS as readonly string[]).includes(name)
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
  const client = useQueryClient()
  const { code, name, id, expiresAt } = pairing
  const decision = useMutation({
    mutationFn: (approve: boolean) => decidePairing(client, agentId, { channel, code, approve }),
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
      <p className="text-sm text-muted">Let them in only when they tell you this code themselves.</p>
      <div className="flex flex-wrap gap-2">
        <Button
          look="primary"
          aria-label={`Let ${name} in`}
          isPending={decision.isPending}
          onClick={() => decision.mutate(true)}
        >
          Let in
        </Button>
        <Button aria-label={`Deny ${name}`} isPending={decision.isPending} onClick={() => decision.mutate(false)}>
          Deny
        </Button>
      </div>
      {decision.error && <Notice tone="problem">{messageFor(decision.error)}</Notice>}
    </li>
  )
}

function Person({ agentId, channel, person }: { agentId: string; channel: string; person: ChannelPerson }) {
  const client = useQueryClient()
  const { id, name, since, isConfigured } = person
  const removal = useMutation({ mutationFn: () => removePerson(client, agentId, { channel, personId: id }) })
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
        <Badge>From its settings</Badge>
      ) : (
        <Button aria-label={`Remove ${name ?? id}`} isPending={removal.isPending} onClick={() => removal.mutate()}>
          Remove
        </Button>
      )}
      {removal.error && <Notice tone="problem">{messageFor(removal.error)}</Notice>}
    </li>
  )
}
