import { queryOptions } from '@tanstack/react-query'
import { ChannelChanged, ChannelList } from '../../../src/features/agents/channels/schemas.ts'
import { ConversationList, ConversationMessages } from '../../../src/features/conversations/chat/schemas.ts'
import { agentQuery } from '../../agents/agents-api.ts'
import { refresh } from '../../api/query-client.ts'
import { api, inPath, request } from '../../api/request.ts'

/** Polls often, because a sender may be waiting for pairing. */
export function channelsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'channels'],
    queryFn: ({ signal }) =>
      request(ChannelList, api.GET('/api/agents/{id}/channels', { ...inPath({ id: agentId }), signal })),
    refetchInterval: 5_000,
  })
}

export function conversationsQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'conversations'],
    queryFn: async ({ signal }) => {
      const answer = api.GET('/api/agents/{id}/conversations', { ...inPath({ id: agentId }), signal })
      return (await request(ConversationList, answer)).conversations
    },
    refetchInterval: 10_000,
  })
}

export function conversationQuery(agentId: string, session: string) {
  const params = { path: { id: agentId, session } }
  return queryOptions({
    queryKey: [...conversationsQuery(agentId).queryKey, session],
    queryFn: async ({ signal }) =>
      (await request(ConversationMessages, api.GET('/api/agents/{id}/conversations/{session}', { params, signal })))
        .messages,
    refetchInterval: 5_000,
  })
}

export async function decidePairing(
  agentId: string,
  { channel, code, approve }: { channel: string; code: string; approve: boolean },
): Promise<void> {
  const params = { path: { id: agentId, name: channel, code } }
  const send = () => api.POST('/api/agents/{id}/channels/{name}/pairings/{code}', { params, body: { approve } })
  await change(agentId, () => request(ChannelChanged, send()))
}

export async function removePerson(
  agentId: string,
  { channel, personId }: { channel: string; personId: string },
): Promise<void> {
  const params = { path: { id: agentId, name: channel, personId } }
  const send = () => api.DELETE('/api/agents/{id}/channels/{name}/people/{personId}', { params })
  await change(agentId, () => request(ChannelChanged, send()))
}

async function change(agentId: string, send: () => Promise<unknown>): Promise<void> {
  try {
    await send()
  } finally {
    // On failure too: another session may have decided first.
    await refresh(channelsQuery(agentId))
  }
}
