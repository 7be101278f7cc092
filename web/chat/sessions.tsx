import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { MessagesSquare, Pencil, Plus, ScrollText, Trash2 } from 'lucide-react'
import { type ReactNode, useDeferredValue, useId, useState } from 'react'
import type { ChatSession, SearchResults } from '../../src/features/conversations/chat/schemas.ts'
import { PlatformBadge } from '../agent/channels/platform-badge.tsx'
import { refresh } from '../api/query-client.ts'
import { messageFor } from '../api/request.ts'
import { Button, FormButtons, IconButton } from '../ui/button.tsx'
import { TextArea, TextField } from '../ui/field.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice } from '../ui/notice.tsx'
import {
  chatSearchQuery,
  chatSessionsQuery,
  createSession,
  deleteSession,
  instructSession,
  renameSession,
} from './chat-api.ts'

/** Messages outside of sessions, such as those sent by programs. */
const MAIN_TITLE = 'Main conversation'
const NEW_TITLE = 'New conversation'

type SessionsProps = {
  agentId: string
  /** Null for the main conversation. */
  sessionId: string | null
  onChoose: (sessionId: string | null, messageId?: string) => void
}

export function SessionsPanel({ agentId, sessionId, onChoose }: SessionsProps) {
  const [isOpen, setOpen] = useState(false)
  const panelId = useId()
  const sessions = useInfiniteQuery(chatSessionsQuery(agentId))
  const known = sessions.data?.pages.flatMap((page) => page.sessions) ?? []
  const current = known.find(({ id }) => id === sessionId)
  const reload = () => refresh(chatSessionsQuery(agentId))
  const creating = useMutation({
    mutationFn: () => createSession(agentId),
    onSuccess: async ({ id }) => {
      await reload()
      choose(id)
    },
  })
  const choose = (id: string | null, messageId?: string) => {
    setOpen(false)
    onChoose(id, messageId)
  }
  return (
    <div className="mx-auto w-full max-w-3xl px-4 sm:px-8">
      <div className="-ml-3 flex items-center justify-between gap-2 py-2 sm:justify-start">
        <Button
          Icon={MessagesSquare}
          look="ghost"
          aria-expanded={isOpen}
          aria-controls={panelId}
          onClick={() => setOpen(!isOpen)}
        >
          <span className="max-w-56 truncate">{sessionId === null ? MAIN_TITLE : (current?.title ?? NEW_TITLE)}</span>
        </Button>
        <Button Icon={Plus} isPending={creating.isPending} onClick={() => creating.mutate()}>
          <span className="max-sm:sr-only">New conversation</span>
        </Button>
      </div>
      <ErrorNotice error={creating.error} />
      {isOpen && (
        <section
          id={panelId}
          aria-label="Conversations"
          className="mb-2 grid max-h-96 grid-cols-1 gap-3 overflow-y-auto rounded-lg border border-line p-3"
        >
          <SearchSection agentId={agentId} onChoose={choose} />
          <ErrorNotice error={sessions.error} />
          <ul aria-label="Conversations" className="grid grid-cols-1 gap-1">
            <li>
              <ChooseButton isCurrent={sessionId === null} onClick={() => choose(null)}>
                {MAIN_TITLE}
              </ChooseButton>
            </li>
            {known.map((session) => (
              <SessionRow
                key={session.id}
                session={session}
                isCurrent={session.id === sessionId}
                onChoose={() => choose(session.id)}
                onChanged={reload}
                onDeleted={async () => {
                  if (session.id === sessionId) onChoose(null)
                  await reload()
                }}
              />
            ))}
          </ul>
          {sessions.hasNextPage && (
            <Button isPending={sessions.isFetchingNextPage} onClick={() => void sessions.fetchNextPage()}>
              Load older conversations
            </Button>
          )}
        </section>
      )}
    </div>
  )
}

type SessionRowProps = {
  session: ChatSession
  isCurrent: boolean
  onChoose: () => void
  onChanged: () => Promise<void>
  onDeleted: () => Promise<void>
}

function SessionRow({ session, isCurrent, onChoose, onChanged, onDeleted }: SessionRowProps) {
  const [task, setTask] = useState<'rename' | 'instruct' | 'delete' | null>(null)
  const title = session.title ?? NEW_TITLE
  if (task === 'rename' || task === 'instruct') {
    const Form = task === 'rename' ? RenameForm : InstructionsForm
    return (
      <li>
        <Form
          session={session}
          onClose={async () => {
            await onChanged()
            setTask(null)
          }}
        />
      </li>
    )
  }
  return (
    <li className="flex items-center gap-1">
      <ChooseButton isCurrent={isCurrent} onClick={onChoose}>
        <span className="truncate">{title}</span>
        <PlatformBadge platform={session.platform} />
        <span className="ml-auto text-xs text-muted">
          <Moment at={session.lastActivity} as="distance" />
        </span>
      </ChooseButton>
      <IconButton Icon={Pencil} label={`Rename ${title}`} onClick={() => setTask('rename')} />
      {session.platform === 'web' && (
        <IconButton label={`Instructions for ${title}`} onClick={() => setTask('instruct')}>
          <ScrollText aria-hidden className={session.instructions === null ? 'size-4' : 'size-4 text-accent'} />
        </IconButton>
      )}
      <IconButton Icon={Trash2} label={`Delete ${title}`} onClick={() => setTask('delete')} />
      {task === 'delete' && (
        <ConfirmDialog
          title={`Delete ${title}?`}
          lead="All messages in this conversation are deleted, and the agent no longer remembers them."
          verb="Delete conversation"
          run={async () => {
            await deleteSession(session.id)
            await onDeleted()
          }}
          onClose={() => setTask(null)}
        />
      )}
    </li>
  )
}

type ChooseButtonProps = { isCurrent: boolean; onClick: () => void; children: ReactNode }

function ChooseButton({ isCurrent, onClick, children }: ChooseButtonProps) {
  return (
    <button
      type="button"
      aria-current={isCurrent || undefined}
      onClick={onClick}
      className="flex min-h-9 w-full min-w-0 items-center gap-2 rounded-md px-2 text-left hover:bg-sunken aria-current:bg-accent-soft"
    >
      {children}
    </button>
  )
}

type SessionFormProps = { session: ChatSession; onClose: () => Promise<void> }

function RenameForm({ session, onClose }: SessionFormProps) {
  const [title, setTitle] = useState(session.title ?? '')
  const renaming = useMutation({ mutationFn: () => renameSession(session.id, title.trim()), onSuccess: onClose })
  return (
    <form
      className="grid grid-cols-1 gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        if (title.trim() !== '') renaming.mutate()
      }}
    >
      <TextField
        label="Conversation title"
        autoFocus
        maxLength={100}
        value={title}
        error={renaming.error ? messageFor(renaming.error) : undefined}
        onChange={(event) => setTitle(event.target.value)}
      />
      <FormButtons verb="Save title" isPending={renaming.isPending} onCancel={() => void onClose()} />
    </form>
  )
}

function InstructionsForm({ session, onClose }: SessionFormProps) {
  const [text, setText] = useState(session.instructions ?? '')
  const saving = useMutation({ mutationFn: () => instructSession(session.id, text), onSuccess: onClose })
  return (
    <form
      className="grid grid-cols-1 gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        saving.mutate()
      }}
    >
      <TextArea
        label="Instructions for this conversation"
        placeholder="Added to every turn of this conversation only."
        look="prose"
        rows={4}
        autoFocus
        maxLength={8000}
        value={text}
        error={saving.error ? messageFor(saving.error) : undefined}
        onChange={(event) => setText(event.target.value)}
      />
      <FormButtons verb="Save instructions" isPending={saving.isPending} onCancel={() => void onClose()} />
    </form>
  )
}

/** A null session is the main conversation. */
type Choose = (sessionId: string | null, messageId: string) => void

function SearchSection({ agentId, onChoose }: { agentId: string; onChoose: Choose }) {
  const [text, setText] = useState('')
  const q = useDeferredValue(text.trim())
  const search = useInfiniteQuery(chatSearchQuery(agentId, q))
  const found = search.data?.pages.flatMap((page) => page.results)
  return (
    <div className="grid grid-cols-1 gap-2">
      <TextField
        label="Search all conversations"
        type="search"
        maxLength={200}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <ErrorNotice error={search.error} />
      {q !== '' && found?.length === 0 && <p className="text-sm text-muted">No results</p>}
      {q !== '' && found && (
        <ul aria-label="Search results" className="grid grid-cols-1 gap-1 empty:hidden">
          {found.map((result) => (
            <Found key={result.message.id} result={result} onChoose={onChoose} />
          ))}
        </ul>
      )}
      {search.hasNextPage && (
        <Button isPending={search.isFetchingNextPage} onClick={() => void search.fetchNextPage()}>
          Search older messages
        </Button>
      )}
    </div>
  )
}

type FoundProps = { result: SearchResults['results'][number]; onChoose: Choose }

function Found({ result: { message, snippet }, onChoose }: FoundProps) {
  return (
    <li>
      <button
        type="button"
        onClick={() => onChoose(message.sessionId ?? null, message.id)}
        className="grid w-full grid-cols-1 gap-0.5 rounded-md px-2 py-1 text-left hover:bg-sunken"
      >
        <span className="text-sm break-words [overflow-wrap:anywhere]">
          {snippet.map(({ text, isFound }, index) =>
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no stable key
            isFound ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
          )}
        </span>
        <span className="text-xs text-muted">
          {message.sender === 'user' ? 'You' : 'Agent'} · <Moment at={message.timestamp} as="minute" />
        </span>
      </button>
    </li>
  )
}
