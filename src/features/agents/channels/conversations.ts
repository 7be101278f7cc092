import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { findAddress } from '../registry/endpoint.ts'
import { getAgent } from '../registry/list.ts'
import type { UserPrincipal } from './decider.ts'
import { CONVERSATION_CHANNELS, type ConversationList, type ConversationMessages } from './schemas.ts'

const MAX_CONVERSATIONS = 200
const MAX_MESSAGES = 200

export type ConversationsDeps = { db: Db; sealer: Sealer; gateway: Pick<AgentGateway, 'sessions' | 'history'> }

/**
 * What is said with an agent by messengers, the newest first: it is in the agent, which keeps it, and nowhere else.
 * @throws AppError `not_found`; what asking the agent throws.
 */
export async function listConversations(
  deps: ConversationsDeps,
  principal: UserPrincipal,
  id: string,
): Promise<ConversationList> {
  const agent = getAgent(deps.db, principal, id)
  if (agent.kind === 'openclaw') return { conversations: [], untold: 'openclaw' }
  const endpoint = findAddress(deps.sealer, agent)
  if (!endpoint) return { conversations: [], untold: 'not_running' }
  const conversations = (await deps.gateway.sessions(endpoint)).flatMap(({ key, ...session }) => {
    const channel = channelOf(key)
    return channel ? [{ ...session, session: key, channel }] : []
  })
  return { conversations: conversations.slice(0, MAX_CONVERSATIONS), untold: null }
}

/**
 * The newest messages of one, the oldest of them first.
 * @throws AppError `not_found` for an agent and a conversation, `conflict` AGENT_NOT_RUNNING; what asking the agent throws.
 */
export async function readConversation(
  deps: ConversationsDeps,
  principal: UserPrincipal,
  id: string,
  session: string,
): Promise<ConversationMessages> {
  const agent = getAgent(deps.db, principal, id)
  if (!channelOf(session) || agent.kind === 'openclaw') throw new AppError('not_found', 'Conversation not found')
  const endpoint = findAddress(deps.sealer, agent)
  if (!endpoint) throw new AppError('conflict', 'Agent is not running', { code: 'AGENT_NOT_RUNNING' })
  const messages = await deps.gateway.history(endpoint, session, MAX_MESSAGES)
  if (messages.length === 0) throw new AppError('not_found', 'Conversation not found')
  return {
    messages: messages.map(({ role, content, timestamp }) => ({
      role: role === 'user' || role === 'summary' ? role : 'assistant',
      content,
      at: timestamp === null ? null : new Date(timestamp).toISOString(),
    })),
  }
}

/** Other sessions of an agent are shown where they are held: in the chat, the inbox and on the page of webhooks. */
function channelOf(key: string) {
  return CONVERSATION_CHANNELS.find((channel) => key.startsWith(`${channel}:`))
}
