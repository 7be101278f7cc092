import { and, eq } from 'drizzle-orm'
import type { PlatformName } from '../../../../core/agents/platforms.ts'
import type { Clock } from '../../../../core/clock.ts'
import { newId } from '../../../../core/ids.ts'
import type { Db, Tx } from '../../../../db/open.ts'
import type { AgentRow } from '../../../agents/registry/tables.ts'
import type { ToolCall } from '../schemas.ts'
import { nameSession, toTitle } from '../session-titles.ts'
import { newSessionId } from '../sessions.ts'
import { chatSessions, chatToolCalls, chatTurns, type MessageRow, messages, type SessionRow } from '../tables.ts'

/** A title is made of no more of a message. */
const MAX_TITLED_CHARACTERS = 1000

type RecordDeps = { clock: Clock }
type Agent = Pick<AgentRow, 'id' | 'ownerId'>

/** A line of a conversation outside of the web. `channelKey` is the agent's session key; `externalId` makes it unique. */
export type ChannelLine = {
  platform: PlatformName
  channelKey: string
  externalId: string
  /** The person, the group or the subject; null takes the first words. */
  title: string | null
  sender: MessageRow['sender']
  author: string | null
  content: string
  status: MessageRow['status']
  at: Date
}

/** The end of the turn that answered the line `questionId`, an external id. */
export type ChannelAnswer = {
  questionId: string
  content: string
  status: MessageRow['status']
  at: Date
  error: { kind: string; message: string } | null
  model: string | null
  inputTokens: number | null
  outputTokens: number | null
  generationIds: string[]
  endedBy: (typeof chatTurns.$inferSelect)['endedBy']
  restarts: number
  /** `offset` is the number of characters before the use. */
  toolCalls: (ToolCall & { offset: number })[]
}

/** An answer of which nothing but its text is known. */
export const PLAIN_ANSWER = {
  error: null,
  model: null,
  inputTokens: null,
  outputTokens: null,
  generationIds: [],
  endedBy: null,
  restarts: 0,
  toolCalls: [],
} satisfies Partial<ChannelAnswer>

/**
 * Stores a line of a conversation outside of the web, once for each external id, as a message of the agent's owner.
 * Agents without an owner have no history.
 */
export function recordChannelLine(deps: RecordDeps, tx: Tx, agent: Agent, line: ChannelLine): void {
  if (agent.ownerId === null || findRecorded(tx, agent.id, line.externalId)) return
  const at = notLaterThanNow(deps, line.at)
  const session = findOrOpenSession(tx, { ...agent, ownerId: agent.ownerId }, { ...line, at })
  if (line.sender === 'user')
    nameSession(tx, session.id, toTitle((line.title ?? line.content).slice(0, MAX_TITLED_CHARACTERS)))
  insertLine(tx, { session, line: { ...line, at } })
}

/**
 * Stores the end of the turn that answered a recorded line: the reply, its figures and its uses of tools. Nothing is stored
 * for a line that was deleted meanwhile, and nothing twice.
 */
export function recordChannelAnswer(deps: RecordDeps, tx: Tx, agent: Agent, answer: ChannelAnswer): void {
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

function findSession(tx: Tx, id: string): SessionRow | undefined {
  return tx.select().from(chatSessions).where(eq(chatSessions.id, id)).get()
}

function findOrOpenSession(
  tx: Tx,
  agent: { id: string; ownerId: string },
  { platform, channelKey, at }: Pick<ChannelLine, 'platform' | 'channelKey' | 'at'>,
): SessionRow {
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

function insertLine(tx: Tx, { session, line }: { session: SessionRow; line: Insertable }): MessageRow {
  const { at, ...columns } = line
  const { id: sessionId, userId, agentId, platform } = session
  // What was said while the platform could not be reached comes late and must not reorder the conversations.
  if (at > session.lastActivity)
    tx.update(chatSessions).set({ lastActivity: at }).where(eq(chatSessions.id, sessionId)).run()
  return tx
    .insert(messages)
    .values({ id: newId('msg'), userId, agentId, sessionId, platform, topic: null, ...columns, createdAt: at })
    .returning()
    .get()
}

/** The clock of an agent or of a messenger may run ahead. */
function notLaterThanNow({ clock }: RecordDeps, at: Date): Date {
  const now = clock.now()
  return at > now ? now : at
}
