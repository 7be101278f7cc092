import type { Tx } from '../../../src/db/open.ts'
import { agentCredentials } from '../../../src/features/conversations/agent-messages/tables.ts'
import { approvals } from '../../../src/features/conversations/approvals/tables.ts'
import { chatSessions, chatToolCalls, chatTurns, messages } from '../../../src/features/conversations/chat/tables.ts'
import { inboxMessages } from '../../../src/features/conversations/inbox/tables.ts'
import { agentMcpServers } from '../../../src/features/conversations/mcp-servers/tables.ts'
import { agentMemory } from '../../../src/features/conversations/memory/tables.ts'
import { radioStreams } from '../../../src/features/web-tools/radio/tables.ts'
import { videos } from '../../../src/features/web-tools/video/tables.ts'

/** Inserts sessions, memory, a turn with a tool call, mail, a stream, a video and a credential, all containing `canary`. */
export function addTalkTraces(
  tx: Tx,
  { userId, agentId, canary, sealed, now }: Record<'userId' | 'agentId' | 'canary' | 'sealed', string> & { now: Date },
): void {
  const own = { userId, agentId }
  tx.insert(chatSessions)
    .values({ ...own, id: `sess_${canary}`, createdAt: now, lastActivity: now })
    .run()
  const line = { sender: 'user', content: canary, status: 'sent', createdAt: now } as const
  tx.insert(messages)
    .values({ ...own, ...line, id: `asked_${canary}` })
    .run()
  const turn = { questionId: `asked_${canary}`, sessionKey: `user:${userId}`, state: 'done', createdAt: now } as const
  tx.insert(chatTurns)
    .values({ ...own, ...turn, id: `turn_${canary}` })
    .run()
  const call = { name: 'list_files', arguments: '{}', result: canary, success: true, durationMs: 1 }
  tx.insert(chatToolCalls)
    .values({ ...call, turnId: `turn_${canary}`, start: 0 })
    .run()
  tx.insert(agentMemory)
    .values({ agentId, key: 'likes', value: JSON.stringify(canary), source: 'agent', updatedAt: now })
    .run()
  const server = { url: 'http://127.0.0.1:1/', trustedTools: [], enabled: true, createdAt: now, updatedAt: now }
  tx.insert(agentMcpServers)
    .values({ ...server, id: `mcp_of_${agentId}`, agentId, name: 'weather' })
    .run()
  const question = { tool: 'delete_file', arguments: JSON.stringify({ path: canary }), status: 'waiting' } as const
  const asked = { ...question, argumentsHash: canary, createdAt: now, expiresAt: new Date(now.getTime() + 1e9) }
  tx.insert(approvals)
    .values({ ...asked, id: `apr_${canary}`, agentId })
    .run()
  tx.insert(agentCredentials).values({ userId, key: 'openai', sealedValue: sealed, updatedAt: now }).run()
  const mail = { sender: canary, subject: canary, text: canary, status: 'delivered', receivedAt: now } as const
  tx.insert(inboxMessages)
    .values({ ...mail, id: `mail_${canary}`, agentId })
    .run()
  const stream = { name: canary, wallet: canary, status: 'created', statusAt: now, createdAt: now } as const
  tx.insert(radioStreams)
    .values({ ...stream, userId, id: `radio_${canary}`, providerId: `stream-${canary}` })
    .run()
  const video = { type: 'demo', prompt: canary, status: 'processing', createdAt: now } as const
  tx.insert(videos)
    .values({ ...video, userId, id: `vid_${canary}` })
    .run()
}
