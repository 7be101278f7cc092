import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { Trash2 } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import { z } from 'zod'
import type { ShownConfig, WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { Breaker, Caps, type DayLimits } from '../../src/features/ai/breakers/schemas.ts'
import { WorkspaceImportSection } from '../agent-memory/workspace-import.tsx'
import { DayLimitsSection } from '../agent-tools/day-limits-section.tsx'
import { LimitActionField } from '../agent-tools/limit-action-field.tsx'
import { changeLimits, limitsQuery } from '../agent-tools/limits-api.ts'
import { ToolsSection } from '../agent-tools/tools-section.tsx'
import { DeleteDialog } from '../agents/agent-menu.tsx'
import { agentQuery, isOnOwnMachine } from '../agents/agents-api.ts'
import { queryClient, refresh } from '../api/query-client.ts'
import { api, inPath, request } from '../api/request.ts'
import { formatCost, formatMissing } from '../cost/figures.ts'
import { GuardrailsSection } from '../guardrails/guardrails-section.tsx'
import { AsksBeforeLeaving } from '../shell/asks-before-leaving.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { CheckField, TextField } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, LoadingShapes, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { changeAgentFields, configQuery, useChangeConfig } from './agent-api.ts'
import { AgentFrame } from './agent-frame.tsx'
import { ChannelsSection, MailChannelSection } from './channels/channels-section.tsx'
import { MessengerSections } from './channels/messenger-sections.tsx'
import { WebhookChannelSection } from './channels/webhook-channel-section.tsx'
import { ModelSection, NameSection, ProviderSection } from './model-sections.tsx'
import { OwnMachineNotice } from './own-machine.tsx'
import { TokenSection } from './token-section.tsx'
import { VerificationSection } from './verification-section.tsx'

const EgressSection = lazy(async () => ({
  default: (await import('../agent-egress/egress-section.tsx')).EgressSection,
}))
const McpSection = lazy(async () => ({ default: (await import('../agent-tools/mcp-section.tsx')).McpSection }))
const InjectionSection = lazy(async () => ({
  default: (await import('../agent-tools/injection-section.tsx')).InjectionSection,
}))

const route = getRouteApi('/signed-in/agents/$agentId/settings')

/** Page `/agents/$agentId/settings`. */
export function AgentSettingsPage() {
  const { agentId } = route.useParams()
  return (
    <AgentFrame agentId={agentId} title="Settings">
      {({ agent }) => (
        <AsksBeforeLeaving className="mx-auto grid w-full max-w-5xl grid-cols-1 gap-6 px-4 py-6 sm:px-8">
          <NameSection agent={agent} />
          {isOnOwnMachine(agent) ? (
            <OwnMachineNotice>Set its model, provider key and messengers there.</OwnMachineNotice>
          ) : (
            <Configured agent={agent} />
          )}
          <MailChannelSection agent={agent} />
          <WebhookChannelSection agent={agent} />
          <LimitsSection agent={agent} />
          <DayLimitsSection agent={agent} />
          <BodyLogging agentId={agent.id} />
          <GuardrailsSection
            guardrails={agent.guardrails}
            save={async (guardrails) => {
              await changeAgentFields(agent.id, { guardrails })
              await refresh(agentQuery(agent.id))
            }}
          />
          <Suspense fallback={<Skeleton className="h-80" />}>
            <EgressSection agent={agent} />
          </Suspense>
          <ToolsSection agent={agent} />
          <Suspense fallback={<Skeleton className="h-80" />}>
            <McpSection agent={agent} />
            <InjectionSection agent={agent} />
          </Suspense>
          <WorkspaceImportSection agent={agent} />
          <TokenSection agent={agent} />
          <VerificationSection agent={agent} />
          <DangerSection agent={agent} />
        </AsksBeforeLeaving>
      )}
    </AgentFrame>
  )
}

function Configured({ agent }: { agent: WebAgent }) {
  const query = useQuery(configQuery(agent.id))
  return (
    <Loaded
      query={query}
      what="settings"
      placeholder={
        <LoadingShapes what="settings" className="grid gap-6">
          <Skeleton className="h-48 rounded-xl" />
          <Skeleton className="h-60 rounded-xl" />
          <Skeleton className="h-96 rounded-xl" />
        </LoadingShapes>
      }
    >
      {(config) => (
        <>
          <ModelSection agent={agent} config={config} />
          <ProviderSection agent={agent} config={config} />
          <SleepSection agent={agent} config={config} />
          <MessengerSections agent={agent} config={config} />
          <ChannelsSection agent={agent} config={config} />
        </>
      )}
    </Loaded>
  )
}

export function SleepSection({ agent, config }: { agent: WebAgent; config: ShownConfig }) {
  const changeConfig = useChangeConfig(agent.id)
  const change = useMutation({ mutationFn: (neverSleeps: boolean) => changeConfig({ neverSleeps }) })
  return (
    <Section title="Sleep" lead="Idle agents sleep and wake within two seconds when something reaches them.">
      <ErrorNotice error={change.error} />
      <CheckField
        label="Never sleep"
        hint="Always on: answers without a wake-up delay."
        checked={config.neverSleeps ?? false}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.target.checked)}
      />
    </Section>
  )
}

function BodyLogging({ agentId }: { agentId: string }) {
  const query = useQuery(agentQuery(agentId))
  const change = useMutation({
    mutationFn: (logBodies: boolean) => changeAgentFields(agentId, { logBodies }),
    onSettled: () => refresh(agentQuery(agentId)),
  })
  return (
    <Section title="Body logging" lead="Shows the content of model requests and answers in the request log.">
      <ErrorNotice error={change.error} />
      <CheckField
        label="Store request and answer bodies"
        hint="Without keys and personal data, up to 64 KiB each, for 7 days. Only you can read them."
        checked={query.data?.logBodies ?? false}
        disabled={change.isPending || !query.data}
        onChange={(event) => change.mutate(event.target.checked)}
      />
      <Link
        to="/requests"
        search={{ agent: agentId }}
        className="justify-self-start text-accent underline underline-offset-2"
      >
        Show requests of this agent
      </Link>
    </Section>
  )
}

export function DangerSection({ agent }: { agent: WebAgent }) {
  const navigate = useNavigate()
  const [isAsking, setAsking] = useState(false)
  return (
    <Section
      title="Delete agent"
      tone="danger"
      lead="Stops the agent and permanently deletes its files, memory and conversations. Cost records are kept."
    >
      <Button Icon={Trash2} className="justify-self-start" onClick={() => setAsking(true)}>
        Delete {agent.name}…
      </Button>
      {isAsking && (
        <DeleteDialog
          agent={agent}
          onClose={() => setAsking(false)}
          onDeleted={() => void navigate({ to: '/agents' })}
        />
      )}
    </Section>
  )
}

/** An empty field means no limit. */
const emptyIsNone = (text: unknown) => (text === '' ? null : Number(text))
const Action = z.enum(['ask', 'pause', 'stop'])
const CapsForm = z.object({
  tokensPerDay: z.preprocess(emptyIsNone, Caps.shape.tokensPerDay),
  tokensAction: Action,
  costUsdPerDay: z.preprocess(emptyIsNone, Caps.shape.costUsdPerDay),
  usdAction: Action,
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
  const limits = useQuery(limitsQuery(agent.id))
  return (
    <Section
      title="Limits"
      badge={query.data?.pause && <Badge tone="warning">Paused</Badge>}
      lead="Model usage in a day of your time zone, and what happens at the limit. You are notified before."
    >
      <Loaded query={query} what="limits" placeholder={<Skeleton className="h-40" />}>
        {(breaker) => <PauseSwitch breaker={breaker} />}
      </Loaded>
      <Loaded query={limits} what="daily limits" placeholder={<Skeleton className="h-40" />}>
        {(day) => <CapsFields day={day} />}
      </Loaded>
    </Section>
  )
}

function PauseSwitch({ breaker: { agentId, pause } }: { breaker: Breaker }) {
  const change = useMutation({
    mutationFn: (verb: 'pause' | 'resume') =>
      request(Breaker, api.POST(`/api/agents/{id}/${verb}`, inPath({ id: agentId }))),
    onSuccess: (breaker) => queryClient.setQueryData(breakerQuery(agentId).queryKey, breaker),
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
      <ErrorNotice error={change.error} />
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

function CapsFields({ day: { agentId, limits, unpricedCalls } }: { day: DayLimits }) {
  const form = useForm(CapsForm, ({ tokensPerDay, tokensAction, costUsdPerDay, usdAction }) =>
    changeLimits(agentId, {
      tokens: { limit: tokensPerDay, action: tokensAction },
      usd: { limit: costUsdPerDay, action: usdAction },
    }),
  )
  const missing = unpricedCalls > 0 ? ` ${formatMissing(unpricedCalls)}` : ''
  return (
    <Form form={form} verb="Save limits">
      {form.isDone && <Notice tone="good">Limits saved.</Notice>}
      <div className="grid grid-cols-1 items-start gap-4 sm:grid-cols-2">
        <TextField
          label="Tokens per day"
          name="tokensPerDay"
          inputMode="numeric"
          placeholder="No limit"
          defaultValue={limits.tokens.limit ?? ''}
          hint={`${limits.tokens.used.toLocaleString('en')} used today`}
        />
        <LimitActionField label="At the token limit" name="tokensAction" action={limits.tokens.action} />
        <TextField
          label="US dollars per day"
          name="costUsdPerDay"
          inputMode="decimal"
          placeholder="No limit"
          defaultValue={limits.usd.limit ?? ''}
          hint={`${formatCost(limits.usd.used)}${missing} used today`}
        />
        <LimitActionField label="At the cost limit" name="usdAction" action={limits.usd.action} />
      </div>
    </Form>
  )
}
