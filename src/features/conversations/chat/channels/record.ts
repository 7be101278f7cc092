import { and, eq } from 'drizzle-orm'
import type { TurnFigures } from '../../../../core/agents/collect-turn.ts'
import type { PlatformName } from '../../../../core/agents/platforms.ts'
import type { Clock } from '../../../../core/clock.ts'
import { newId } from '../../../../core/ids.ts'
import type { Db, Tx } from '../../../../db/open.ts'
import { write } from '../../../../db/write.ts'
import { getAgent } from '../../../agents/registry/agents.ts'
import type { AgentRow } from '../../../agents/registry/tables.ts'
import type { StorageQuota } from '../../../agents/storage/quota.ts'
import type { Base } from '../../../base.ts'
import { nameSession, newSessionId, toSessionTitle } from '../sessions.ts'
import { type ChatSessionRow, chatSessions, chatToolCalls, chatTurns, type MessageRow, messages } from '../tables.ts'
import type { ChannelReport } from './schemas.ts'

const MAX_TITLED_CHARACTERS = 1000
type Agent = Pick<AgentRow, 'id' | 'ownerId'>

/**
 * A message on a messenger, by mail or by webhook. `channelKey` is the agent's session key; `externalId` makes it
 * unique.
 */
type ChannelLine = {
  platform: PlatformName
  channelKey: string
  externalId: string
  /** The person, group or subject; null takes the first words of the message. */
  title: string | null
  sender: MessageRow['sender']
  author: string | null
  content: string
  status: MessageRow['status']
  at: Date
}

/** The outcome of the turn that answered the message with the external id `questionId`. */
type ChannelAnswer = TurnFigures & {
  questionId: string
  content: string
  status: MessageRow['status']
  at: Date
  error: { kind: string; message: string } | null
}

/**
 * Stores a channel message once per external id, as a message of the agent's owner. Agents without an owner have no
 * history.
 */
export function recordChannelLine(deps: { clock: Clock }, tx: Tx, agent: Agent, line: ChannelLine): void {
  if (agent.ownerId === null || findRecorded(tx, agent.id, line.externalId)) return
  const at = notLaterThanNow(deps, line.at)
  const session = findOrOpenSession(tx, { ...agent, ownerId: agent.ownerId }, { ...line, at })
  if (line.sender === 'user')
    nameSession(tx, session.id, toSessionTitle((line.title ?? line.content).slice(0, MAX_TITLED_CHARACTERS)))
  insertLine(tx, { session, line: { ...line, at } })
}

/**
 * Stores the outcome of a recorded message's turn: the reply, its usage and its tool calls. Ignores deleted messages
 * and repeated reports.
 */
export function recordChannelAnswer(deps: { clock: Clock }, tx: Tx, agent: Agent, answer: ChannelAnswer): void {
  const question = findRecorded(tx, agent.id, answer.questionId)
  const session = question?.sessionId ? findSession(tx, question.sessionId) : undefined
  if (!question || !session) return
  const known = tx.select({ id: chatTurns.id }).from(chatTurns).where(eq(chatTurns.questionId, question.id)).get()
  if (known) return
  const { content, status } = answer
  const at = notLaterThanNow(deps, answer.at)
  const externalId = `${answer.questionId}#answer`
  const line = { sender: 'agent', author: null, content, status, externalId, at } as const
  const reply = content === '' ? null : insertLine(tx, { session, line })
  const isAnswered = status === 'sent' || (status === 'stopped' && reply !== null)
  if (!isAnswered) tx.update(messages).set({ status }).where(eq(messages.id, question.id)).run()
  const turnId = newId('turn')
  tx.insert(chatTurns)
    .values({
      id: turnId,
      userId: question.userId,
      agentId: agent.id,
      questionId: question.id,
      replyId: reply?.id ?? null,
      sessionKey: session.channelKey ?? '',
      state: status === 'sent' ? 'done' : status,
      errorKind: answer.error?.kind ?? null,
      error: answer.error?.message ?? null,
      model: answer.model,
      inputTokens: answer.inputTokens,
      outputTokens: answer.outputTokens,
      generationIds: answer.generationIds.length > 0 ? answer.generationIds : null,
      endedBy: answer.endedBy,
      restarts: answer.restarts,
      createdAt: question.createdAt,
      finishedAt: at,
    })
    .run()
  for (const [index, { offset, ...call }] of answer.toolCalls.entries()) {
    tx.insert(chatToolCalls)
      .values({ turnId, start: offset + index, ...call })
      .run()
  }
}

function findRecorded(tx: Db | Tx, agentId: string, externalId: string): MessageRow | undefined {
  const isThis = and(eq(messages.agentId, agentId), eq(messages.externalId, externalId))
  return tx.select().from(messages).where(isThis).get()
}

function findSession(tx: Tx, id: string): ChatSessionRow | undefined {
  return tx.select().from(chatSessions).where(eq(chatSessions.id, id)).get()
}

function findOrOpenSession(
  tx: Tx,
  agent: { id: string; ownerId: string },
  { platform, channelKey, at }: Pick<ChannelLine, 'platform' | 'channelKey' | 'at'>,
): ChatSessionRow {
  const isThis = and(eq(chatSessions.agentId, agent.id), eq(chatSessions.channelKey, channelKey))
  const known = tx.select().from(chatSessions).where(isThis).get()
  if (known) return known
  const row = { id: newSessionId(), userId: agent.ownerId, agentId: agent.id, platform, channelKey }
  return tx
    .insert(chatSessions)
    .values({ ...row, createdAt: at, lastActivity: at })
    .returning()
    .get()
}

type Insertable = Pick<ChannelLine, 'sender' | 'author' | 'content' | 'status' | 'externalId' | 'at'>

function insertLine(tx: Tx, { session, line }: { session: ChatSessionRow; line: Insertable }): MessageRow {
  const { at, ...columns } = line
  const { id: sessionId, userId, agentId, platform } = session
  // Delayed reports must not reorder the conversations.
  if (at > session.lastActivity)
    tx.update(chatSessions).set({ lastActivity: at }).where(eq(chatSessions.id, sessionId)).run()
  return tx
    .insert(messages)
    .values({ id: newId('msg'), userId, agentId, sessionId, platform, topic: null, ...columns, createdAt: at })
    .returning()
    .get()
}

/** The clock of an agent or messenger may be ahead. */
function notLaterThanNow({ clock }: { clock: Clock }, at: Date): Date {
  const now = clock.now()
  return at > now ? now : at
}

/**
 * Stores the channel entries that an agent reports, each once even if a report is repeated.
 * @returns the number of entries stored.
 * @throws AppError `not_found` for a missing agent; `storage_full` for a person's message over the owner's quota, after
 * the entries before it are stored. Answers are always stored, because they were paid for.
 */
export async function storeReport(
  deps: Base & { storage: Pick<StorageQuota, 'within'> },
  agentId: string,
  { entries }: ChannelReport,
): Promise<number> {
  const agent = getAgent(deps.db, { kind: 'operator' }, agentId)
  for (const entry of entries) {
    await write(deps.db, (tx) => {
      const at = new Date(entry.at)
      if (entry.type === 'answer') {
        const { question, text, type: _, ...answer } = entry
        recordChannelAnswer(deps, tx, agent, { ...answer, questionId: question, content: text, at })
        return
      }
      const { id, session, text, type: _, ...line } = entry
      const store = () =>
        recordChannelLine(deps, tx, agent, { ...line, externalId: id, channelKey: session, content: text, at })
      if (line.sender === 'agent') store()
      else deps.storage.within(tx, agent.ownerId, store)
    })
  }
  return entries.length
}
