import { and, desc, eq, lt, or } from 'drizzle-orm'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import { errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { readPage } from '../../../db/pages.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { ChangeSessionRequest, ChatSession, ChatSessionList, NewSessionRequest, SessionQuery } from './schemas.ts'
import { type ChatDeps, findAddressee } from './send.ts'
import { createSession, getSession, requireWebSession, toSessionKey } from './sessions.ts'
import { type ChatSessionRow, chatSessions, chatTurns, messages } from './tables.ts'
import { requireEndpoint } from './turns/ask.ts'

/** Returns a page of a user's sessions, latest activity first; of all agents unless one is given. */
export function listChatSessions(db: Db, userId: string, { agentId, limit, before }: SessionQuery): ChatSessionList {
  const last = before === undefined ? null : getSession(db, userId, before)
  const isLater = last
    ? or(
        lt(chatSessions.lastActivity, last.lastActivity),
        and(eq(chatSessions.lastActivity, last.lastActivity), lt(chatSessions.sequence, last.sequence)),
      )
    : undefined
  const selection = db
    .select()
    .from(chatSessions)
    .where(and(eq(chatSessions.userId, userId), agentId ? eq(chatSessions.agentId, agentId) : undefined, isLater))
    .orderBy(desc(chatSessions.lastActivity), desc(chatSessions.sequence))
  const { rows, hasMore } = readPage(selection, limit)
  return { sessions: rows.map(toChatSession), hasMore }
}

/**
 * Creates a session with the given agent, or the user's newest running one.
 * @throws AppError `not_found` without one.
 */
export async function openChatSession(
  deps: ChatDeps,
  user: SignedInUser,
  { agentId, ...given }: NewSessionRequest,
): Promise<ChatSession> {
  const agent = findAddressee(deps.db, user, agentId)
  return write(deps.db, (tx) => {
    const session = createSession(deps.clock, tx, user.id, agent.id)
    return toChatSession(changeSession(tx, session, given))
  })
}

/** @throws AppError `not_found` for a missing session or another user's. */
export async function changeChatSession(
  db: Db,
  userId: string,
  id: string,
  request: ChangeSessionRequest,
): Promise<ChatSession> {
  return write(db, (tx) => toChatSession(changeSession(tx, getSession(tx, userId, id), request)))
}

/**
 * Deletes a session with its messages, here and, if it is reachable, at its agent. Stops a running turn.
 * @throws AppError `not_found` for a missing session or another user's.
 */
export async function deleteChatSession(
  deps: ChatDeps & { log: Log; gateway: Pick<AgentGateway, 'forgetSession'> },
  userId: string,
  id: string,
): Promise<void> {
  const session = getSession(deps.db, userId, id)
  const inSession = eq(messages.sessionId, session.id)
  const sessionKeys = listSessionKeys(deps.db, session)
  for (const { id: turnId } of listRunningIn(deps.db, session)) await deps.turns.stop(turnId)
  await deleteInBatches(deps.db, messages, inSession)
  await write(deps.db, (tx) => {
    tx.delete(messages).where(inSession).run()
    tx.delete(chatSessions).where(eq(chatSessions.id, session.id)).run()
  })
  for (const sessionKey of sessionKeys) await forgetAtAgent(deps, session.agentId, sessionKey)
}

function changeSession(tx: Tx, session: ChatSessionRow, request: ChangeSessionRequest): ChatSessionRow {
  // Instructions are added to web messages; messages of a messenger do not pass through the platform.
  if (request.instructions !== undefined) requireWebSession(session)
  const { title = session.title, instructions = session.instructions } = request
  const change = { title, instructions: instructions || null }
  return tx.update(chatSessions).set(change).where(eq(chatSessions.id, session.id)).returning().get()
}

/** Returns the agent's session keys of a session: one per branch. */
function listSessionKeys(db: Db, { userId, id, channelKey }: ChatSessionRow): string[] {
  const keys = db
    .selectDistinct({ sessionKey: chatTurns.sessionKey })
    .from(chatTurns)
    .innerJoin(messages, eq(messages.id, chatTurns.questionId))
    .where(eq(messages.sessionId, id))
    .all()
  return [...new Set([channelKey ?? toSessionKey(userId, id), ...keys.map(({ sessionKey }) => sessionKey)])]
}

function listRunningIn(db: Db, session: ChatSessionRow) {
  return db
    .select({ id: chatTurns.id })
    .from(chatTurns)
    .innerJoin(messages, eq(messages.id, chatTurns.questionId))
    .where(
      and(eq(chatTurns.state, 'running'), eq(chatTurns.userId, session.userId), eq(messages.sessionId, session.id)),
    )
    .all()
}

/** If the agent is unreachable, a session file that no one can request remains in its state folder. */
async function forgetAtAgent(
  deps: ChatDeps & { log: Log; gateway: Pick<AgentGateway, 'forgetSession'> },
  agentId: string,
  sessionKey: string,
): Promise<void> {
  try {
    const endpoint = requireEndpoint(deps.sealer, getAgent(deps.db, { kind: 'operator' }, agentId))
    await deps.gateway.forgetSession(endpoint, sessionKey)
  } catch (error) {
    deps.log.info({ agentId, error: errorMessage(error) }, 'failed to delete a session at its agent')
  }
}

function toChatSession({ createdAt, lastActivity, ...row }: ChatSessionRow): ChatSession {
  const { id, agentId, title, instructions, platform } = row
  const times = { createdAt: createdAt.toISOString(), lastActivity: lastActivity.toISOString() }
  return { id, agentId, title, instructions, platform, ...times }
}
