import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import type { InboxMessage } from '../../src/features/conversations/inbox/schemas.ts'
import { Pages } from '../admin/paging.tsx'
import { agentsQuery } from '../agents/agents-api.ts'
import { ReplyText } from '../chat/reply-text.tsx'
import { Badge } from '../ui/badge.tsx'
import { SelectField } from '../ui/field.tsx'
import { Moment } from '../ui/moment.tsx'
import { Empty } from '../ui/panel.tsx'
import { SwarmsFrame } from './loaded-swarm.tsx'
import { inboxQuery } from './team-api.ts'

const route = getRouteApi('/signed-in/team/inbox')

/** Page `/team/inbox`. */
export function InboxPage() {
  const { agent } = route.useSearch()
  const navigate = useNavigate()
  const query = useInfiniteQuery(inboxQuery(agent))
  const agents = useQuery(agentsQuery).data ?? []
  const nameOf = (id: string) => agents.find((each) => each.id === id)?.name ?? id
  return (
    <SwarmsFrame title="Inbox" lead="Email your agents received, and their replies.">
      {agents.length > 0 && (
        <div className="max-w-xs">
          <SelectField
            label="Agent"
            value={agent ?? ''}
            onChange={({ target }) =>
              void navigate({ to: '/team/inbox', search: target.value ? { agent: target.value } : {}, replace: true })
            }
          >
            <option value="">All agents</option>
            {agents.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </SelectField>
        </div>
      )}
      <Pages
        query={query}
        what="mail"
        itemsOf={({ messages }) => messages}
        empty={<NoMail agentId={agent ?? agents[0]?.id} name={agent && nameOf(agent)} />}
      >
        {(mail) => <MailRow key={mail.id} mail={mail} name={nameOf(mail.agentId)} />}
      </Pages>
    </SwarmsFrame>
  )
}

function NoMail({ agentId, name }: { agentId: string | undefined; name: string | undefined }) {
  return (
    <Empty title={name ? `No email for ${name} yet` : 'No email yet'}>
      <p>
        Turn on email in{' '}
        {agentId ? (
          <Link
            to="/agents/$agentId/settings"
            params={{ agentId }}
            className="text-accent underline underline-offset-2"
          >
            its settings
          </Link>
        ) : (
          'the settings of an agent'
        )}{' '}
        to receive email here. The settings show its address and any missing server configuration.
      </p>
    </Empty>
  )
}

const STATES = {
  queued: { tone: 'plain', word: 'Queued' },
  delivered: { tone: 'good', word: 'Processed' },
  failed: { tone: 'problem', word: 'Failed' },
} as const

const ANSWERS: Record<NonNullable<InboxMessage['answer']>['status'], string> = {
  queued: 'Sending the reply.',
  sent: 'Reply sent by email.',
  withheld: 'Reply not sent',
  failed: 'Could not send the reply',
}

function MailRow({ mail, name }: { mail: InboxMessage; name: string }) {
  const { tone, word } = STATES[mail.status]
  return (
    <li>
      <details className="group">
        <summary className="grid cursor-pointer list-none grid-cols-1 gap-0.5 px-3 py-3 -outline-offset-2 hover:bg-sunken sm:px-4 [&::-webkit-details-marker]:hidden">
          <span className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
            <span className="min-w-0 font-medium wrap-anywhere">{mail.subject || 'No subject'}</span>
            <Badge tone={tone}>{word}</Badge>
          </span>
          <span className="flex flex-wrap gap-x-3 text-sm text-muted">
            <span className="break-all">from {mail.from}</span>
            <span className="break-words">to {name}</span>
            <Moment at={mail.receivedAt} as="minute" />
          </span>
        </summary>
        <div className="grid grid-cols-1 gap-4 border-t border-line bg-ground px-3 py-4 sm:px-4">
          <ReplyText text={mail.text || 'Empty message'} />
          <Files mail={mail} />
          {mail.error && <p className="text-sm wrap-anywhere text-bad">{mail.error}</p>}
          {mail.reply && (
            <div className="grid grid-cols-1 gap-2 rounded-lg border border-line bg-surface p-3">
              <h2 className="text-sm font-semibold">{name} replied</h2>
              <ReplyText text={mail.reply} />
            </div>
          )}
          {mail.answer && (
            <p className="text-sm text-muted">
              {ANSWERS[mail.answer.status]}
              {mail.answer.error && `: ${mail.answer.error}`}
            </p>
          )}
        </div>
      </details>
    </li>
  )
}

function Files({ mail: { agentId, files } }: { mail: InboxMessage }) {
  if (files.length === 0) return null
  return (
    <ul aria-label="Attachments" className="grid grid-cols-1 gap-1 text-sm">
      {files.map(({ name, path, problem }) => (
        <li key={`${name} ${path}`} className="wrap-anywhere">
          {path ? (
            <Link to="/agents/$agentId/files" params={{ agentId }} search={{ path }}>
              {name}
            </Link>
          ) : (
            name
          )}
          {problem && <span className="text-muted">: {problem}</span>}
        </li>
      ))}
    </ul>
  )
}
