import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { Breaker, Caps } from '../../src/features/ai/breakers/schemas.ts'
import { agentQuery } from '../agents/agents-api.ts'
import { api, inPath, messageFor, request } from '../api/request.ts'
import { formatCost } from '../cost/figures.ts'
import { SectionForm } from '../settings/section-form.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { Loaded } from '../ui/loaded.tsx'
import { Moment } from '../ui/moment.tsx'
import { Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'

/** An empty field means no limit. */
const emptyIsNone = (text: unknown) => (text === '' ? null : Number(text))
const CapsForm = z.object({
  tokensPerDay: z.preprocess(emptyIsNone, Caps.shape.tokensPerDay),
  costUsdPerDay: z.preprocess(emptyIsNone, Caps.shape.costUsdPerDay),
})

const paused: Readonly<Record<NonNullable<Breaker['pause']>['scope'], string>> = {
  agent: 'This agent is paused',
  owner: 'All your agents are paused',
  platform: 'The administrator paused all agents',
}

function breakerQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'breaker'],
    queryFn: ({ signal }) =>
      request(Breaker, api.GET('/api/agents/{id}/breaker', { ...inPath({ id: agentId }), signal })),
    refetchInterval: 30_000,
  })
}

export function LimitsSection({ agent }: { agent: WebAgent }) {
  const query = useQuery(breakerQuery(agent.id))
  return (
    <Section
      title="Limits"
      badge={query.data?.pause && <Badge tone="warning">Paused</Badge>}
      lead="Daily model usage. At the limit, calls are rejected until midnight UTC. You are notified before."
    >
      <Loaded query={query} what="limits" placeholder={<Skeleton className="h-40" />}>
        {(breaker) => (
          <>
            <PauseSwitch breaker={breaker} />
            <CapsFields breaker={breaker} />
          </>
        )}
      </Loaded>
    </Section>
  )
}

function PauseSwitch({ breaker: { agentId, pause } }: { breaker: Breaker }) {
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: (verb: 'pause' | 'resume') =>
      request(Breaker, api.POST(`/api/agents/{id}/${verb}`, inPath({ id: agentId }))),
    onSuccess: (breaker) => client.setQueryData(breakerQuery(agentId).queryKey, breaker),
  })
  return (
    <div className="grid grid-cols-1 gap-3">
      {pause && (
        <Notice tone="warning" title={paused[pause.scope]}>
          <p>
            No model calls since <Moment at={pause.since} as="minute" />
            {pause.reason && `: ${pause.reason}`}.
          </p>
        </Notice>
      )}
      {change.isError && <Notice tone="problem">{messageFor(change.error)}</Notice>}
      {pause?.scope !== 'owner' && pause?.scope !== 'platform' && (
        <Button
          className="justify-self-start"
          isPending={change.isPending}
          onClick={() => change.mutate(pause ? 'resume' : 'pause')}
        >
          {pause ? 'Resume' : 'Pause agent'}
        </Button>
      )}
    </div>
  )
}

function CapsFields({ breaker: { agentId, caps, usedToday } }: { breaker: Breaker }) {
  const client = useQueryClient()
  const form = useForm(
    CapsForm,
    async (body) => {
      const breaker = await request(Breaker, api.PUT('/api/agents/{id}/breaker', { ...inPath({ id: agentId }), body }))
      client.setQueryData(breakerQuery(agentId).queryKey, breaker)
    },
    () => null,
  )
  return (
    <SectionForm form={form} action="Save limits">
      {form.isDone && <Notice tone="good">Limits saved.</Notice>}
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <TextField
          label="Tokens per day"
          name="tokensPerDay"
          inputMode="numeric"
          autoComplete="off"
          placeholder="No limit"
          defaultValue={caps.tokensPerDay ?? ''}
          hint={`${usedToday.tokens.toLocaleString('en')} used today`}
          error={form.problem?.fields.tokensPerDay}
        />
        <TextField
          label="US dollars per day"
          name="costUsdPerDay"
          inputMode="decimal"
          autoComplete="off"
          placeholder="No limit"
          defaultValue={caps.costUsdPerDay ?? ''}
          hint={`${formatCost(usedToday.costUsd)} used today`}
          error={form.problem?.fields.costUsdPerDay}
        />
      </div>
    </SectionForm>
  )
}
