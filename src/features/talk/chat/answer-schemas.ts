import { z } from 'zod'
import { ChatSession, ChatTurn } from './schemas.ts'

/** `GET /api/agents/:id/messages`. */
export const AgentMessagesAnswer = z.object({
  messages: z.array(
    z.object({
      id: z.string(),
      agentId: z.string(),
      sender: z.enum(['user', 'agent']),
      content: z.string(),
      timestamp: z.string(),
      platform: z.literal('web'),
    }),
  ),
  total: z.number(),
  limit: z.number(),
  offset: z.number(),
  status: z.literal('ok'),
})

/** `POST /api/chat/sessions`. */
export const NewChatSessionsAnswer = z.object({ session: ChatSession })

/** `POST /api/chat`. */
export const NewChatPendingAnswer = z.object({ turn: ChatTurn })
