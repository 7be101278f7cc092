import { useInfiniteQuery } from '@tanstack/react-query'
import { useDeferredValue, useState } from 'react'
import type { SearchResults } from '../../src/features/conversations/chat/schemas.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice } from '../ui/notice.tsx'
import { searchQuery } from './sessions-api.ts'

/** A null session is the main conversation. */
type Choose = (sessionId: string | null, messageId: string) => void

export function SearchSection({ agentId, onChoose }: { agentId: string; onChoose: Choose }) {
  const [text, setText] = useState('')
  const q = useDeferredValue(text.trim())
  const search = useInfiniteQuery(searchQuery(agentId, q))
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
      {search.error && <Notice tone="problem">{messageFor(search.error)}</Notice>}
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
