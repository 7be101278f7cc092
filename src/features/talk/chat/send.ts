import { and, desc, eq, isNull } from 'drizzle-orm'
import type { AgentEndpoint } from '../../../adapters/gateways/endpoint.ts'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/list.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import { requireEndpoint } from './endpoint.ts'
import type { SendMessageRequest, SentMessage } from './schemas.ts'
import { touchSession } from './sessions.ts'
import { type MessageRow, messages, type SessionRow } from './tables.ts'

export type SendDeps = {
  db: Db
  clock: Clock
  sealer: Sealer
  storage: Pick<StorageQuota, 'within'>
  gateway: Pick<AgentGateway, 'chat' | 'streamChat'>
}

/** A message that is stored and an agent that is ready to answer it. */
export type Turn = { agent: AgentRow; endpoint: AgentEndpoint; sessionKey: string; question: MessageRow }

/** Finds or opens the session of a message, in the closure that stores the message; null keeps it outside of sessions. */
export type PickSession = (tx: Tx, agent: AgentRow) => SessionRow | null

/**
 * Stores the user's message and finds who answers it: the named agent, or the user's newest running one.
 * @throws AppError `not_found` without such an agent, `conflict` when the named one does not run, `storage_full`;
 * what `pickSession` throws.
 */
export async function openTurn(
  deps: SendDeps,
  user: SignedInUser,
  request: SendMessageRequest,
  pickSession: PickSession = () => null,
): Promise<Turn> {
  const agent = findAddressee(deps.db, user, request.agentId)
  const endpoint = requireEndpoint(deps.sealer, agent)
  const question = await write(deps.db, (tx) =>
    // The reply is stored in any case: it was paid for.
    deps.storage.within(tx, agent.ownerId, () =>
      insertMessage(deps, tx, {
        userId: user.id,
        agentId: agent.id,
        sender: 'user',
        content: request.message,
        topic: request.topic ?? null,
        sessionId: pickSession(tx, agent)?.id ?? null,
      }),
    ),
  )
  const { sessionId } = question
  return { agent, endpoint, sessionKey: sessionId ? `user:${user.id}:${sessionId}` : `user:${user.id}`, question }
}

/** Asks the agent and stores its reply. @throws AppError of the gateway; the message is then marked `failed`. */
export async function sendMessage(deps: SendDeps, turn: Turn, signal: AbortSignal): Promise<SentMessage> {
  try {
    const reply = await deps.gateway.chat(turn.endpoint, toAgentRequest(turn), signal)
    return await closeTurn(deps, turn, reply)
  } catch (error) {
    await markUnanswered(deps, turn)
    throw error
  }
}

/** As `sendMessage`, handing each piece of the reply to `onText` as it comes. */
export async function streamMessage(
  deps: SendDeps,
  turn: Turn,
  signal: AbortSignal,
  onText: (text: string) => Promise<void>,
): Promise<SentMessage> {
  try {
    let reply = ''
    for await (const text of deps.gateway.streamChat(turn.endpoint, toAgentRequest(turn), signal)) {
      reply += text
      await onText(text)
    }
    return await closeTurn(deps, turn, reply)
  } catch (error) {
    await markUnanswered(deps, turn)
    throw error
  }
}

/**
 * The named agent, or the user's newest running one.
 * @throws AppError `not_found` when there is none.
 */
export function findAddressee(db: Db, user: SignedInUser, agentId: string | undefined): AgentRow {
  if (agentId) return getAgent(db, { kind: 'user', user }, agentId)
  const newest = db
    .select()
    .from(agents)
    .where(and(eq(agents.ownerId, user.id), eq(agents.status, 'running'), isNull(agents.downAt)))
    .orderBy(desc(agents.createdAt))
    .limit(1)
    .get()
  if (!newest) throw new AppError('not_found', 'No agent deployed')
  return newest
}

function toAgentRequest({ sessionKey, question }: Turn) {
  return { sessionKey, message: question.content }
}

async function closeTurn(deps: SendDeps, { agent, question }: Turn, reply: string): Promise<SentMessage> {
  await write(deps.db, (tx) =>
    insertMessage(deps, tx, {
      userId: question.userId,
      agentId: agent.id,
      sender: 'agent',
      content: reply,
      topic: question.topic,
      sessionId: question.sessionId,
    }),
  )
  return {
    id: question.id,
    agentId: agent.id,
    message: question.content,
    topic: question.topic,
    status: 'sent',
    timestamp: question.createdAt.toISOString(),
    reply,
  }
}

async function markUnanswered(deps: SendDeps, { question }: Turn): Promise<void> {
  await write(deps.db, (tx) => tx.update(messages).set({ status: 'failed' }).where(eq(messages.id, question.id)).run())
}

function insertMessage(
  deps: SendDeps,
  tx: Tx,
  message: Pick<MessageRow, 'userId' | 'agentId' | 'sender' | 'content' | 'topic' | 'sessionId'>,
): MessageRow {
  if (message.sessionId) touchSession(deps.clock, tx, message.sessionId)
  return tx
    .insert(messages)
    .values({ ...message, id: newId('msg'), status: 'sent', createdAt: deps.clock.now() })
    .returning()
    .get()
}
