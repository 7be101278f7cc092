import { and, desc, eq, inArray, isNull } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import { attachTo, copyAttachments } from './attachments.ts'
import { requireEndpoint } from './endpoint.ts'
import { describeSent, insertMessage } from './messages.ts'
import { findSessionKey, getReplaceable, replaceFrom, toBranchKey } from './replace.ts'
import type { SendMessageRequest, SentMessage } from './schemas.ts'
import { nameSession, toTitle } from './session-titles.ts'
import { getSession, requireWebSession } from './sessions.ts'
import type { MessageRow, SessionRow, TurnRow } from './tables.ts'
import { findMade, type Once } from './turns/once.ts'
import { readEnded } from './turns/read.ts'
import { findMessage, insertTurn, type TurnEnd } from './turns/store.ts'
import type { LiveTurn, Turns } from './turns/turns.ts'

export type SendDeps = {
  db: Db
  clock: Clock
  sealer: Sealer
  storage: Pick<StorageQuota, 'within'>
  turns: Turns
}

/** A message and the turn that answers it: both are stored. Nothing has been sent unless the turn was `made` before. */
export type Turn = { turn: TurnRow; question: MessageRow; made: boolean }

/**
 * Where a message belongs. `pickSession` finds or opens its session, in the closure that stores the message; without one it
 * is kept outside of sessions. `sessionKey` is the agent's name for a conversation apart from the user's. `once` makes it one turn
 * with an earlier request of the same key.
 */
export type Place = {
  pickSession?: (tx: Tx, agent: AgentRow) => SessionRow
  sessionKey?: string
  once?: Once | undefined
}

/**
 * Stores the user's message and the turn of who answers it: the named agent, or the user's newest running one.
 * @throws AppError `not_found` without such an agent, `conflict` when the named one does not run, `storage_full`, `limited`
 * when too many turns are running; what `pickSession` throws.
 */
export async function openTurn(
  deps: SendDeps,
  user: SignedInUser,
  request: SendMessageRequest,
  { pickSession, sessionKey, once }: Place = {},
): Promise<Turn> {
  const named = request.sessionId === undefined ? null : getSession(deps.db, user.id, request.sessionId)
  const made = once && (await write(deps.db, (tx) => findMadeTurn(deps, tx, user.id, once)))
  if (made) return made
  if (named) requireWebSession(named)
  const agent = findAddressee(deps.db, user, request.agentId ?? named?.agentId)
  if (named && named.agentId !== agent.id) throw new AppError('not_found', 'Session not found')
  requireEndpoint(deps.sealer, agent)
  const title = toTitle(request.message)
  return write(deps.db, (tx) => {
    const meanwhile = once && findMadeTurn(deps, tx, user.id, once)
    if (meanwhile) return meanwhile
    const own = { userId: user.id, agentId: agent.id }
    const replaced = request.replaces === undefined ? null : getReplaceable(tx, own, request.replaces)
    const sessionId = replaced ? replaced.sessionId : ((named ?? pickSession?.(tx, agent))?.id ?? null)
    const line = { userId: user.id, agentId: agent.id, sender: 'user', status: 'sent', sessionId } as const
    const content = { content: request.message, topic: request.topic ?? null }
    // The reply is stored in any case: it was paid for.
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

/** @returns the agent's name for the conversation, in which the question takes the place of `replaced`, if any. */
function placeTurn(tx: Tx, question: MessageRow, replaced: MessageRow | null): string {
  if (!replaced) return findSessionKey(tx, question)
  replaceFrom(tx, replaced, question)
  return toBranchKey(question)
}

function findMadeTurn(deps: SendDeps, tx: Tx, userId: string, once: Once): Turn | null {
  const turn = findMade(deps.clock, tx, userId, once)
  const question = turn && findMessage(tx, turn.questionId)
  return question ? { turn, question, made: true } : null
}

/** How a turn goes on, or went: the agent is asked unless it was. */
export function beginTurn({ turns, db }: SendDeps, { turn, question, made }: Turn): LiveTurn {
  if (!made) return turns.start(turn, question)
  return turn.state === 'running' ? turns.takeUp(turn, question) : readEnded({ db, turns }, turn)
}

/**
 * Asks the agent and waits for its reply; an abort of `signal` stops the turn.
 * @throws AppError of the gateway, the turn is then `failed`; `conflict` TURN_STOPPED when somebody stopped it; the
 * signal's reason.
 */
export async function sendMessage(deps: SendDeps, turn: Turn, signal: AbortSignal): Promise<SentMessage> {
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

/** Asks the agent and waits for its reply while `signal` lets it: the turn goes on without it. @throws as `sendMessage`. */
export async function waitForReply(deps: SendDeps, turn: Turn, signal: AbortSignal): Promise<SentMessage> {
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

/** @throws the AppError of a turn that failed; `conflict` TURN_STOPPED {reply} of one that was stopped. */
function toSentMessage(question: MessageRow, { log }: LiveTurn, end: TurnEnd): SentMessage {
  if (end.state === 'failed') throw end.error
  if (end.state === 'stopped') {
    throw new AppError('conflict', 'The reply was stopped', { code: 'TURN_STOPPED', reply: log.text() })
  }
  return describeSent(question, log.text())
}

/**
 * The named agent, or the user's newest one that runs or sleeps.
 * @throws AppError `not_found` when there is none.
 */
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
