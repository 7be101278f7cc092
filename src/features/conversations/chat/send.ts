import { and, desc, eq, inArray, isNull } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import type { Base } from '../../base.ts'
import { attachTo, copyAttachments } from './attachments.ts'
import { findSessionKey, getReplaceable, replaceFrom, toBranchKey } from './replace.ts'
import type { SendMessageRequest, SentMessage } from './schemas.ts'
import { describeSent, getSession, insertMessage, nameSession, requireWebSession, toSessionTitle } from './sessions.ts'
import type { ChatSessionRow, MessageRow, TurnRow } from './tables.ts'
import { requireEndpoint } from './turns/ask.ts'
import { findMade, type IdempotencyKey } from './turns/idempotency.ts'
import { readEnded } from './turns/read.ts'
import { findMessage, insertTurn, type TurnEnd } from './turns/store.ts'
import type { LiveTurn, Turns } from './turns/turns.ts'

export type ChatDeps = Base & { storage: Pick<StorageQuota, 'within'>; turns: Turns }

/**
 * A stored message and its turn. `made`: an earlier request created them, and the agent may have been asked already.
 */
export type Turn = { turn: TurnRow; question: MessageRow; made: boolean }

/**
 * Options of a new turn. `pickSession` finds or creates its session in the transaction that stores the message; without
 * it the message is outside of sessions. `sessionKey` names a separate conversation at the agent. `once` shares the
 * turn with an earlier request of the same key.
 */
export type TurnOptions = {
  pickSession?: (tx: Tx, agent: AgentRow) => ChatSessionRow
  sessionKey?: string
  once?: IdempotencyKey | undefined
}

/**
 * Stores a user's message and its turn for the given agent, or for the user's newest running one.
 * @throws AppError `not_found` without such an agent, `conflict` when it does not run, `storage_full`, `limited` when
 * too many turns are running; errors of `pickSession`.
 */
export async function openTurn(
  deps: ChatDeps,
  user: SignedInUser,
  request: SendMessageRequest,
  { pickSession, sessionKey, once }: TurnOptions = {},
): Promise<Turn> {
  const named = request.sessionId === undefined ? null : getSession(deps.db, user.id, request.sessionId)
  const made = once && (await write(deps.db, (tx) => findMadeTurn(deps, tx, user.id, once)))
  if (made) return made
  if (named) requireWebSession(named)
  const agent = findAddressee(deps.db, user, request.agentId ?? named?.agentId)
  if (named && named.agentId !== agent.id) throw new AppError('not_found', 'Session not found')
  requireEndpoint(deps.sealer, agent)
  const title = toSessionTitle(request.message)
  return write(deps.db, (tx) => {
    const meanwhile = once && findMadeTurn(deps, tx, user.id, once)
    if (meanwhile) return meanwhile
    const own = { userId: user.id, agentId: agent.id }
    const replaced = request.replaces === undefined ? null : getReplaceable(tx, own, request.replaces)
    const sessionId = replaced ? replaced.sessionId : ((named ?? pickSession?.(tx, agent))?.id ?? null)
    const line = { userId: user.id, agentId: agent.id, sender: 'user', status: 'sent', sessionId } as const
    const content = { content: request.message, topic: request.topic ?? null }
    // The quota covers only the question: a reply is stored in any case, because it was paid for.
    const question = deps.storage.within(tx, agent.ownerId, () => {
      const stored = insertMessage(deps.clock, tx, { ...line, ...content })
      if (replaced && !request.attachments) copyAttachments(tx, replaced, stored)
      return stored
    })
    attachTo(tx, question, request.attachments ?? [])
    if (sessionId !== null) nameSession(tx, sessionId, title)
    const turn = insertTurn(deps.clock, tx, question, {
      sessionKey: sessionKey ?? placeTurn(tx, question, replaced),
      once,
    })
    return { turn, question, made: false }
  })
}

/** @returns the agent's session key of the conversation in which the question replaces `replaced`, if any. */
function placeTurn(tx: Tx, question: MessageRow, replaced: MessageRow | null): string {
  if (!replaced) return findSessionKey(tx, question)
  replaceFrom(tx, replaced, question)
  return toBranchKey(question)
}

function findMadeTurn(deps: ChatDeps, tx: Tx, userId: string, once: IdempotencyKey): Turn | null {
  const turn = findMade(deps.clock, tx, userId, once)
  const question = turn && findMessage(tx, turn.questionId)
  return question ? { turn, question, made: true } : null
}

/** Starts a new turn, joins a running one, or returns the outcome of a finished one. */
export function beginTurn({ turns, db }: ChatDeps, { turn, question, made }: Turn): LiveTurn {
  if (!made) return turns.start(turn, question)
  return turn.state === 'running' ? turns.takeUp(turn, question) : readEnded({ db, turns }, turn)
}

/**
 * Asks the agent and waits for its reply; aborting `signal` stops the turn.
 * @throws the AppError of a failed turn; `conflict` TURN_STOPPED of a stopped one; the signal's reason.
 */
export async function sendMessage(deps: ChatDeps, turn: Turn, signal: AbortSignal): Promise<SentMessage> {
  const live = beginTurn(deps, turn)
  const stop = () => void deps.turns.stop(turn.turn.id)
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  try {
    const end = await live.ended
    if (end.state !== 'done') signal.throwIfAborted()
    return toSentMessage(turn.question, live, end)
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Asks the agent and waits for its reply; when `signal` aborts, the turn continues. @throws as `sendMessage`. */
export async function waitForReply(deps: ChatDeps, turn: Turn, signal: AbortSignal): Promise<SentMessage> {
  const live = beginTurn(deps, turn)
  const left = Promise.withResolvers<never>()
  const leave = () => left.reject(signal.reason)
  signal.addEventListener('abort', leave)
  try {
    return toSentMessage(turn.question, live, await Promise.race([live.ended, left.promise]))
  } finally {
    signal.removeEventListener('abort', leave)
  }
}

/** @throws the AppError of a failed turn; `conflict` TURN_STOPPED {reply} of a stopped one. */
function toSentMessage(question: MessageRow, { log }: LiveTurn, end: TurnEnd): SentMessage {
  if (end.state === 'failed') throw end.error
  if (end.state === 'stopped') {
    throw new AppError('conflict', 'The reply was stopped', { code: 'TURN_STOPPED', reply: log.text() })
  }
  return describeSent(question, log.text())
}

/** Returns the given agent, or the user's newest running or sleeping one. @throws AppError `not_found` without one. */
export function findAddressee(db: Db, user: SignedInUser, agentId: string | undefined): AgentRow {
  if (agentId) return getAgent(db, { kind: 'user', user }, agentId)
  const newest = db
    .select()
    .from(agents)
    .where(and(eq(agents.ownerId, user.id), inArray(agents.status, ['running', 'sleeping']), isNull(agents.downAt)))
    .orderBy(desc(agents.createdAt))
    .limit(1)
    .get()
  if (!newest) throw new AppError('not_found', 'No agent deployed')
  return newest
}
