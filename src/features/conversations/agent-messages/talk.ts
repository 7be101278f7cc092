import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findAddressee, openTurn, type Place, type SendDeps, waitForReply } from '../chat/send.ts'
import {
  createSession,
  findCurrentSession,
  getSession,
  getSessionSummary,
  listSessionMessages,
  listSessions,
  requireWebSession,
} from '../chat/sessions.ts'
import type { MessageRow } from '../chat/tables.ts'
import type { ChatAction } from './schemas.ts'

/** Lines of one session that are shown. */
const MAX_SHOWN = 500
const REMEMBERED = 10
const MAX_REMEMBERED_CHARACTERS = 100

/**
 * Says something to an agent in the named session, else in the one that goes on, else in a new one.
 * @throws AppError `not_found` for an agent or session that is missing or someone else's, `conflict` when the agent does
 * not run, and what the agent's gateway throws.
 */
export async function talk(deps: SendDeps, user: SignedInUser, request: ChatAction, signal: AbortSignal) {
  const { message, sessionId } = request
  const named = sessionId ? getSession(deps.db, user.id, sessionId) : null
  if (named) requireWebSession(named)
  const agentId = request.agentId ?? named?.agentId
  const pickSession: Place['pickSession'] = (tx, agent) => {
    const session = named ?? findCurrentSession(tx, user.id, agent.id)
    return session ?? createSession(deps.clock, tx, user.id, agent.id)
  }
  const turn = await openTurn(deps, user, { message, agentId }, { pickSession })
  const { reply } = await waitForReply(deps, turn, signal)
  return { sessionId: turn.question.sessionId, reply, timestamp: deps.clock.now().getTime() }
}

/** Opens a session, in which the next message goes on. @throws AppError `not_found` without such an agent. */
export async function startSession(deps: SendDeps, user: SignedInUser, agentId: string | undefined) {
  const agent = findAddressee(deps.db, user, agentId)
  const session = await write(deps.db, (tx) => createSession(deps.clock, tx, user.id, agent.id))
  return { sessionId: session.id, status: 'active' }
}

/** @throws AppError `not_found` without such an agent. */
export function showSessions(deps: SendDeps, user: SignedInUser, agentId: string | undefined) {
  const agent = findAddressee(deps.db, user, agentId)
  return listSessions(deps, user.id, agent.id).map(({ id, status, messageCount, createdAt, lastActivity }) => ({
    id,
    status,
    messageCount,
    createdAt: createdAt.getTime(),
    lastActivity: lastActivity.getTime(),
  }))
}

/** A session with its last 500 lines. @throws AppError `not_found` for a missing session and for someone else's. */
export function showSession(deps: SendDeps, user: SignedInUser, id: string) {
  const session = getSessionSummary(deps, user.id, id)
  return {
    id,
    userId: user.id,
    agentId: session.agentId,
    status: session.status,
    messages: listSessionMessages(deps.db, session, MAX_SHOWN).map((line) => ({
      ...toTurn(line),
      timestamp: line.createdAt.getTime(),
    })),
    createdAt: session.createdAt.getTime(),
    lastActivity: session.lastActivity.getTime(),
  }
}

/** The last ten lines of the conversation that goes on, cut to 100 characters. @throws AppError `not_found`. */
export function showRecent(deps: SendDeps, user: SignedInUser, agentId: string | undefined) {
  const agent = findAddressee(deps.db, user, agentId)
  const session = findCurrentSession(deps.db, user.id, agent.id)
  if (!session) return []
  return listSessionMessages(deps.db, session, REMEMBERED)
    .map(toTurn)
    .map(({ role, content }) => ({ role, content: [...content].slice(0, MAX_REMEMBERED_CHARACTERS).join('') }))
}

function toTurn({ sender, content }: MessageRow) {
  return { role: sender === 'user' ? 'user' : 'assistant', content }
}
