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

/** Turns answers by mail on and off, and shows the address and the people who may write. */
export function MailChannelSection({ agent }: { agent: WebAgent }) {
  const query = useQuery(mailChannelQuery(agent.id))
  const people = useQuery(channelsQuery(agent.id)).data?.channels.find(({ name }) => name === 'mail')
  return (
    <Section
      title="Mail"
      badge={query.data?.isOn ? <Badge tone="good">On</Badge> : <Badge>Off</Badge>}
      lead="It answers mail of yours and of those whom you let in, in the same thread. What programs and mailing lists send is never answered."
    >
      <Loaded query={query} what="Its mail" placeholder={<Skeleton className="h-20" />}>
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
      {address && <Address label={isOn ? 'Its address' : 'Its address, once it answers'} address={address} />}
      {missing.length > 0 && (
        <Notice tone="warning">The operator has to set {missing.join(', ')} before agents can answer mail.</Notice>
      )}
      {change.isError && <Notice tone="problem">{messageFor(change.error)}</Notice>}
      {(isOn || missing.length === 0) && (
        <Button className="justify-self-start" isPending={change.isPending} onClick={() => change.mutate()}>
          {isOn ? 'Answer no mail' : 'Answer mail'}
        </Button>
      )}
    </div>
  )
}
