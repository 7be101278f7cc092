import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { MailChannel } from '../../../src/features/agents/channels/schemas.ts'
import { ConfigRequest, type ShownConfig, type WebAgent } from '../../../src/features/agents/registry/schemas.ts'
import { agentQuery } from '../../agents/agents-api.ts'
import { queryClient, refresh } from '../../api/query-client.ts'
import { api, inPath, request } from '../../api/request.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Address } from '../../ui/copy-button.tsx'
import { TextField } from '../../ui/field.tsx'
import { Form, useForm } from '../../ui/form.tsx'
import { ErrorNotice, Loaded, Notice, Skeleton } from '../../ui/notice.tsx'
import { Section } from '../../ui/panel.tsx'
import { fieldOfConfig, useChangeConfig } from '../agent-api.ts'
import { SecretSetting } from '../model-sections.tsx'
import { ChannelPeople } from './channel-people.tsx'
import { channelsQuery } from './channels-api.ts'

type ChannelsSectionProps = { agent: WebAgent; config: ShownConfig }

/** An empty field removes the setting. */
const PeopleForm = z.object({
  telegramUserId: z
    .string()
    .transform((text): string | number | null | undefined => text.trim() || null)
    .pipe(ConfigRequest.shape.telegramUserId),
  ownerIds: z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter(Boolean))
    .transform((ids): ConfigRequest['ownerIds'] => (ids.length > 0 ? ids : null))
    .pipe(ConfigRequest.shape.ownerIds),
})

export function ChannelsSection({ agent, config }: ChannelsSectionProps) {
  const { secrets, webhookUrl } = config
  return (
    <Section title="Other channels" lead="Tokens are encrypted and never shown again.">
      <SecretSetting
        agent={agent}
        name="whatsappToken"
        label="WhatsApp token"
        isSet={secrets.whatsappToken}
        hint="Used by OpenClaw agents only"
      />
      <SecretSetting
        agent={agent}
        name="webhookUrl"
        label="Webhook for other agents"
        isSet={secrets.webhookUrl}
        hint={
          webhookUrl
            ? `Messages from other agents are also sent to ${webhookUrl}.`
            : 'Messages from other agents are also sent to this URL.'
        }
      />
      <People agent={agent} config={config} />
    </Section>
  )
}

function People({ agent, config }: ChannelsSectionProps) {
  const change = useChangeConfig(agent.id)
  const form = useForm(PeopleForm, change, fieldOfConfig(['telegramUserId', 'ownerIds']))
  return (
    <Form form={form} verb="Save senders" className="grid max-w-md grid-cols-1 gap-4 border-t border-line pt-4">
      <h3 className="text-sm font-semibold">Allowed senders</h3>
      {form.isDone && <Notice tone="good">Saved.</Notice>}
      <TextField
        label="Telegram user ID"
        name="telegramUserId"
        maxLength={100}
        defaultValue={config.telegramUserId ?? ''}
      />
      <TextField
        label="Owner IDs"
        name="ownerIds"
        defaultValue={config.ownerIds?.join(', ') ?? ''}
        hint="Separated by commas."
      />
    </Form>
  )
}

function mailChannelQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'mail-channel'],
    queryFn: ({ signal }) =>
      request(MailChannel, api.GET('/api/agents/{id}/channels/mail', { ...inPath({ id: agentId }), signal })),
  })
}

export function MailChannelSection({ agent }: { agent: WebAgent }) {
  const query = useQuery(mailChannelQuery(agent.id))
  const people = useQuery(channelsQuery(agent.id)).data?.channels.find(({ name }) => name === 'mail')
  return (
    <Section
      title="Mail"
      badge={query.data?.isOn ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>}
      lead="The agent replies to email from you and from allowed senders, in the same thread. It never replies to automated mail or mailing lists."
    >
      <Loaded query={query} what="mail settings" placeholder={<Skeleton className="h-20" />}>
        {(channel) => <MailSwitch agentId={agent.id} channel={channel} />}
      </Loaded>
      {people && <ChannelPeople agentId={agent.id} channel={people} title="mail" />}
    </Section>
  )
}

function MailSwitch({ agentId, channel: { isOn, address, missing } }: { agentId: string; channel: MailChannel }) {
  const change = useMutation({
    mutationFn: () =>
      request(
        MailChannel,
        api.PUT('/api/agents/{id}/channels/mail', { ...inPath({ id: agentId }), body: { isOn: !isOn } }),
      ),
    onSuccess(channel) {
      queryClient.setQueryData(mailChannelQuery(agentId).queryKey, channel)
      return refresh(channelsQuery(agentId))
    },
  })
  return (
    <div className="grid grid-cols-1 gap-3">
      {address && <Address label={isOn ? 'Email address' : 'Email address, once mail is on'} address={address} />}
      {missing.length > 0 && (
        <Notice tone="warning">
          The administrator must set {missing.join(', ')} before agents can reply to email.
        </Notice>
      )}
      <ErrorNotice error={change.error} />
      {(isOn || missing.length === 0) && (
        <Button className="justify-self-start" isPending={change.isPending} onClick={() => change.mutate()}>
          {isOn ? 'Turn off' : 'Turn on'}
        </Button>
      )}
    </div>
  )
}
