import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type FoundMemory, MemoryFound } from '../../src/features/conversations/memory/schemas.ts'
import { memoryQuery } from '../agent/memory-api.ts'
import { api, request } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem, Skeleton } from '../ui/notice.tsx'
import { SearchField } from '../ui/search-field.tsx'

function foundQuery(agentId: string, q: string) {
  return infiniteQueryOptions({
    queryKey: [...memoryQuery(agentId).queryKey, 'found', q],
    queryFn: ({ pageParam, signal }) => {
      const query = { agentId, q, limit: 20, before: pageParam ?? undefined }
      return request(MemoryFound, api.GET('/api/memory', { params: { query }, signal }))
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    enabled: q !== '',
    staleTime: 10_000,
  })
}

export function MemorySearch({ agentId }: { agentId: string }) {
  const [q, setQuery] = useState('')
  const query = useInfiniteQuery(foundQuery(agentId, q))
  return (
    <div className="grid grid-cols-1 gap-3">
      <SearchField
        label="Search memory and past conversations"
        placeholder="Search facts and conversations"
        value=""
        maxLength={200}
        onSearch={setQuery}
      />
      {q !== '' && (
        <Loaded query={query} what="search results" placeholder={<Skeleton className="h-16" />}>
          {({ pages }) => {
            const found = pages.flatMap(({ results }) => results)
            if (found.length === 0) return <p className="text-sm text-muted">No results contain all of these words.</p>
            return (
              <ul
                aria-label="Search results"
                className="max-h-96 divide-y divide-line overflow-y-auto rounded-lg border border-line"
              >
                {found.map((each) => (
                  <FoundRow key={each.kind === 'fact' ? each.cursor : each.message.id} found={each} agentId={agentId} />
                ))}
              </ul>
            )
          }}
        </Loaded>
      )}
      {query.data && query.error && (
        <LoadProblem what="more results" error={query.error} onRetry={() => query.fetchNextPage()} />
      )}
      {q !== '' && query.hasNextPage && !query.error && (
        <Button
          className="justify-self-start"
          isPending={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </div>
  )
}

function FoundRow({ found, agentId }: { found: FoundMemory; agentId: string }) {
  return (
    <li className="grid grid-cols-1 gap-0.5 px-3 py-2 text-sm">
      {found.kind === 'fact' && <p className="font-medium wrap-anywhere">{found.key}</p>}
      <p className="wrap-anywhere">
        {found.snippet.map(({ text, isFound }, index) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no stable key
          isFound ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
        )}
      </p>
      <p className="text-xs text-muted">
        {found.kind === 'fact' ? (
          <>
            Fact from {found.source === 'user' ? 'you' : 'the agent'} · <Moment at={found.updatedAt} as="minute" />
          </>
        ) : (
          <>
            Message from {found.message.sender === 'user' ? 'you' : 'the agent'} ·{' '}
            <Moment at={found.message.timestamp} as="minute" /> ·{' '}
            <Link to="/agents/$agentId" params={{ agentId }} className="text-accent underline underline-offset-2">
              Conversations
            </Link>
          </>
        )}
      </p>
    </li>
  )
}
