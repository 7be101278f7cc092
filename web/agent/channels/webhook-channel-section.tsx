import { queryOptions, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ChannelChanged } from '../../../src/features/agents/channels/schemas.ts'
import type { WebAgent } from '../../../src/features/agents/registry/schemas.ts'
import {
  ChangedWebhookChannel,
  WebhookChannel,
  WebhookChannelRequest,
} from '../../../src/features/conversations/webhook-channel/schemas.ts'
import { agentQuery } from '../../agents/agents-api.ts'
import { queryClient, refresh } from '../../api/query-client.ts'
import { api, inPath, request } from '../../api/request.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Address, CopyButton } from '../../ui/copy-button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, useForm } from '../../ui/form.tsx'
import { ConfirmDialog } from '../../ui/modal.tsx'
import { Moment } from '../../ui/moment.tsx'
import { Loaded, Notice, Skeleton } from '../../ui/notice.tsx'
import { Section } from '../../ui/panel.tsx'

function webhookChannelQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'webhook-channel'],
    queryFn: ({ signal }) =>
      request(WebhookChannel, api.GET('/api/agents/{id}/webhook-channel', { ...inPath({ id: agentId }), signal })),
    refetchInterval: 10_000,
  })
}

export function WebhookChannelSection({ agent }: { agent: WebAgent }) {
  const query = useQuery(webhookChannelQuery(agent.id))
  return (
    <Section
      title="Webhook"
      badge={query.data?.isOn ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>}
      lead="Your program sends signed messages to this webhook and receives replies at your URL."
    >
      <Loaded query={query} what="webhook settings" placeholder={<Skeleton className="h-40" />}>
        {(channel) => <Fields agentId={agent.id} channel={channel} />}
      </Loaded>
    </Section>
  )
}

function Fields({ agentId, channel }: { agentId: string; channel: WebhookChannel }) {
  const [secret, setSecret] = useState<string | null>(null)
  const { isOn, inbound, sendsTo, lastError, deliveries } = channel
  const change = async (body: WebhookChannelRequest) => {
    const changed = await request(
      ChangedWebhookChannel,
      api.PUT('/api/agents/{id}/webhook-channel', { ...inPath({ id: agentId }), body }),
    )
    if (changed.secret) setSecret(changed.secret)
    queryClient.setQueryData(webhookChannelQuery(agentId).queryKey, changed.channel)
  }
  const form = useForm(WebhookChannelRequest.pick({ url: true }), change, () => 'url')
  return (
    <div className="grid grid-cols-1 gap-4">
      {isOn && <Address label="Webhook URL" address={inbound} what="URL" />}
      {secret && (
        <Notice tone="good" title="Signing secret (shown only once)">
          <p className="flex flex-wrap items-center gap-2 wrap-anywhere">
            <code className="font-mono text-sm">{secret}</code>
            <CopyButton text={secret} what="secret" />
          </p>
          <p>Sign each request with this secret.</p>
          <Button className="justify-self-start" onClick={() => setSecret(null)}>
            Done
          </Button>
        </Notice>
      )}
      {lastError && (
        <Notice tone="warning">
          {lastError.message} (<Moment at={lastError.at} as="distance" />)
        </Notice>
      )}
      <Form form={form} verb="Save URL" className="grid max-w-md grid-cols-1 gap-3">
        {form.isDone && !secret && <Notice tone="good">Saved.</Notice>}
        <TextField
          label="Reply URL"
          name="url"
          type="url"
          placeholder={sendsTo ?? 'https://…'}
          hint={sendsTo ? `Currently ${sendsTo}` : 'An http or https URL.'}
        />
      </Form>
      {deliveries.length > 0 && (
        <ul aria-label="Webhook messages" className="divide-y divide-line rounded-md border border-line">
          {deliveries.map((delivery) => (
            <Delivery key={delivery.id} delivery={delivery} />
          ))}
        </ul>
      )}
      {isOn && <SwitchOff agentId={agentId} onDone={() => setSecret(null)} />}
    </div>
  )
}

function SwitchOff({ agentId, onDone }: { agentId: string; onDone: () => void }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button className="justify-self-start" onClick={() => setAsking(true)}>
        Turn off
      </Button>
      {isAsking && (
        <ConfirmDialog
          title="Turn off the webhook?"
          lead="The URL stops accepting messages and the secret is deleted. Turning the webhook on again creates a new secret."
          verb="Turn off"
          run={async () => {
            await request(ChannelChanged, api.DELETE('/api/agents/{id}/webhook-channel', inPath({ id: agentId })))
            await refresh(webhookChannelQuery(agentId))
            onDone()
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}

function Delivery({ delivery }: { delivery: WebhookChannel['deliveries'][number] }) {
  const { deliveryId, conversation, status, error, answer, receivedAt } = delivery
  const isGood = status === 'answered' && answer?.status === 'sent'
  const isBad = status === 'failed' || answer?.status === 'failed'
  const state = status === 'answered' ? `reply ${answer?.status ?? 'queued'}` : status
  return (
    <li className="flex min-w-0 flex-wrap items-center gap-x-2.5 gap-y-1 p-3 wrap-anywhere">
      <span className="font-medium">{deliveryId}</span>
      <span className="text-sm text-muted">{conversation}</span>
      <span className="text-sm text-muted">
        <Moment at={receivedAt} as="distance" />
      </span>
      <Badge tone={isGood ? 'good' : isBad ? 'problem' : 'warning'}>{state}</Badge>
      {(error ?? answer?.error) && <span className="text-sm text-muted">{error ?? answer?.error}</span>}
    </li>
  )
}
