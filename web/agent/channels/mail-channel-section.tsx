import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { MailChannel } from '../../../src/features/agents/channels/schemas.ts'
import type { WebAgent } from '../../../src/features/agents/registry/schemas.ts'
import { agentQuery } from '../../agents/agents-api.ts'
import { api, inPath, messageFor, request } from '../../api/request.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { Loaded } from '../../ui/loaded.tsx'
import { Notice, Skeleton } from '../../ui/notice.tsx'
import { Section } from '../../ui/section.tsx'
import { Address } from '../address.tsx'
import { ChannelPeople } from './channel-people.tsx'
import { channelsQuery } from './channels-api.ts'

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
  const client = useQueryClient()
  const change = useMutation({
    mutationFn: () =>
      request(
        MailChannel,
        api.PUT('/api/agents/{id}/channels/mail', { ...inPath({ id: agentId }), body: { isOn: !isOn } }),
      ),
    onSuccess(channel) {
      client.setQueryData(mailChannelQuery(agentId).queryKey, channel)
      return client.invalidateQueries({ queryKey: channelsQuery(agentId).queryKey })
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
      {change.isError && <Notice tone="problem">{messageFor(change.error)}</Notice>}
      {(isOn || missing.length === 0) && (
        <Button className="justify-self-start" isPending={change.isPending} onClick={() => change.mutate()}>
          {isOn ? 'Turn off' : 'Turn on'}
        </Button>
      )}
    </div>
  )
}
