import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { MemorySearch } from '../agent-memory/memory-search.tsx'
import { messageFor } from '../api/request.ts'
import { SectionForm } from '../settings/section-form.tsx'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Loaded } from '../ui/loaded.tsx'
import { Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { forgetFact, memoryQuery, saveFact } from './memory-api.ts'

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
      {forgetting.isError && <Notice tone="problem">{messageFor(forgetting.error)}</Notice>}
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
  const client = useQueryClient()
  const form = useForm(
    FactForm,
    async ({ key, fact }) => {
      await saveFact(agent.id, key, fact)
      form.formRef.current?.reset()
      await client.invalidateQueries({ queryKey: memoryQuery(agent.id).queryKey })
    },
    () => null,
  )
  return (
    <SectionForm form={form} action="Add fact">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-[minmax(0,1fr)_minmax(0,2fr)]">
        <TextField
          label="Name"
          name="key"
          maxLength={200}
          autoComplete="off"
          placeholder="favourite-tea"
          error={form.problem?.fields.key}
        />
        <TextField
          label="Fact"
          name="fact"
          autoComplete="off"
          placeholder="Likes green tea, no sugar"
          error={form.problem?.fields.fact}
        />
      </div>
    </SectionForm>
  )
}

function useChange(agentId: string, mutationFn: (key: string) => Promise<unknown>) {
  const client = useQueryClient()
  return useMutation({
    mutationFn,
    onSettled: () => client.invalidateQueries({ queryKey: memoryQuery(agentId).queryKey }),
  })
}

function toText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text
}
