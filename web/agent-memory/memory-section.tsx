import { infiniteQueryOptions, queryOptions, useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { z } from 'zod'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { type FoundMemory, Memory, MemoryFound } from '../../src/features/conversations/memory/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { refresh } from '../api/query-client.ts'
import { api, request } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { SearchField } from '../ui/filters.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'

/** Longer values are truncated. */
const MAX_SHOWN_CHARACTERS = 400

const FactForm = z.object({
  key: z.string().trim().min(1, 'A name is needed').max(200),
  fact: z.string().trim().min(1, 'Enter something to remember'),
})

export function MemorySection({ agent }: { agent: WebAgent }) {
  const query = useQuery(memoryQuery(agent.id))
  return (
    <Section
      title="Memory"
      lead={`Facts that ${agent.name} knows in every conversation. The agent adds facts by itself, and you can add your own.`}
    >
      <Loaded query={query} what="memory" placeholder={<Skeleton className="h-24" />}>
        {(data) => (
          <>
            {data.unread && (
              <Notice tone="warning">This agent stores notes in its own files. Start it to view them.</Notice>
            )}
            <MemorySearch agentId={agent.id} />
            <FactList agent={agent} memory={data.memory} />
            <FactFields agent={agent} />
          </>
        )}
      </Loaded>
    </Section>
  )
}

function FactList({ agent, memory }: { agent: WebAgent; memory: Record<string, unknown> }) {
  const forgetting = useChange(agent.id, (key: string) => forgetFact(agent.id, key))
  const facts = Object.entries(memory)
  if (facts.length === 0) return <p className="text-sm text-muted">Nothing yet</p>
  return (
    <>
      <ErrorNotice error={forgetting.error} />
      <ul aria-label="Facts" className="-mt-3 max-h-96 divide-y divide-line overflow-y-auto">
        {facts.map(([key, value]) => (
          <li key={key} className="flex items-start gap-3 py-3">
            <div className="grid min-w-0 flex-1 grid-cols-1 gap-0.5">
              <p className="text-sm font-medium wrap-anywhere">{key}</p>
              <p className="text-sm wrap-anywhere whitespace-pre-wrap text-muted">{toText(value)}</p>
            </div>
            <Button
              aria-label={`Delete ${key}`}
              isPending={forgetting.isPending && forgetting.variables === key}
              onClick={() => forgetting.mutate(key)}
            >
              Delete
            </Button>
          </li>
        ))}
      </ul>
    </>
  )
}

function FactFields({ agent }: { agent: WebAgent }) {
  const form = useForm(FactForm, async ({ key, fact }) => {
    await saveFact(agent.id, key, fact)
    form.formRef.current?.reset()
    await refresh(memoryQuery(agent.id))
  })
  return (
    <Form form={form} verb="Add fact">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-[minmax(0,1fr)_minmax(0,2fr)]">
        <TextField label="Name" name="key" maxLength={200} placeholder="favourite-tea" />
        <TextField label="Fact" name="fact" placeholder="Likes green tea, no sugar" />
      </div>
    </Form>
  )
}

function useChange(agentId: string, mutationFn: (key: string) => Promise<unknown>) {
  return useMutation({ mutationFn, onSettled: () => refresh(memoryQuery(agentId)) })
}

function toText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text
}

const Success = z.object({ success: z.literal(true) })

export function memoryQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'memory'],
    queryFn: ({ signal }) => request(Memory, api.GET('/api/memory', { params: { query: { agentId } }, signal })),
    refetchInterval: 10_000,
  })
}

function saveFact(agentId: string, key: string, memory: string) {
  return request(Success, api.POST('/api/memory', { body: { agentId, key, memory } }))
}

function forgetFact(agentId: string, key: string) {
  return request(Success, api.DELETE('/api/memory', { params: { query: { agentId, key } } }))
}

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

function MemorySearch({ agentId }: { agentId: string }) {
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
