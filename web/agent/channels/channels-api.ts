import { type QueryClient, queryOptions } from '@tanstack/react-query'
import {
  ChannelChanged,
  ChannelList,
  ConversationList,
  ConversationMessages,
} from '../../../src/features/agents/channels/schemas.ts'
import { agentPath, agentQuery } from '../../agents/agents-api.ts'
import { request } from '../../api/request.ts'

/** The messengers of an agent; looked at often, for somebody may wait. */
export function channelsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'channels'],
    queryFn: ({ signal }) => request(ChannelList, `${agentPath(agentId)}/channels`, { signal }),
    refetchInterval: 5_000,
  })
}

/** What is said with an agent by messengers. */
export function conversationsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'conversations'],
    queryFn: async ({ signal }) =>
      (await request(ConversationList, `${agentPath(agentId)}/conversations`, { signal })).conversations,
    refetchInterval: 10_000,
  })
}

/** One of them, as it is when it is looked at. */
export function conversationQuery(agentId: string, session: string) {
  const path = `${agentPath(agentId)}/conversations/${encodeURIComponent(session)}`
  return queryOptions({
    queryKey: [...conversationsQuery(agentId).queryKey, session],
    queryFn: async ({ signal }) => (await request(ConversationMessages, path, { signal })).messages,
    refetchInterval: 5_000,
  })
}

export async function decidePairing(
  client: QueryClient,
  agentId: string,
  { channel, code, approve }: { channel: string; code: string; approve: boolean },
): Promise<void> {
  const path = `${agentPath(agentId)}/channels/${channel}/pairings/${encodeURIComponent(code)}`
  await change(client, agentId, () => request(ChannelChanged, path, { method: 'POST', body: { approve } }))
}

export async function removePerson(
  client: QueryClient,
  agentId: string,
  { channel, personId }: { channel: string; personId: string },
): Promise<void> {
  const path = `${agentPath(agentId)}/channels/${channel}/people/${encodeURIComponent(personId)}`
  await change(client, agentId, () => request(ChannelChanged, path, { method: 'DELETE' }))
}

async function change(client: QueryClient, agentId: string, send: () => Promise<unknown>): Promise<void> {
  try {
    await send()
  } finally {
    // Also when somebody else was faster: then the list says how.
    await client.invalidateQueries({ queryKey: channelsQuery(agentId).queryKey })
  }
}
