import { and, eq } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import { enableSkill, installSkill } from '../../payments/skills/install.ts'
import { listMarketplace } from '../../payments/skills/marketplace.ts'
import { type ChatDeps, findAddressee, openTurn, type TurnOptions, waitForReply } from '../chat/send.ts'
import {
  createSession,
  findCurrentSession,
  getSession,
  getSessionSummary,
  listSessionMessages,
  requireWebSession,
  summarizeSessions,
} from '../chat/sessions.ts'
import type { MessageRow } from '../chat/tables.ts'
import { type ChatAction, CREDENTIALS, type CredentialKey } from './schemas.ts'
import { agentCredentials } from './tables.ts'

const MAX_SHOWN = 500
const REMEMBERED = 10
const MAX_REMEMBERED_CHARACTERS = 100

/**
 * Sends a message to an agent in the given session, else in the current one, else in a new one.
 * @throws AppError `not_found` for a missing or another user's agent or session, `conflict` when the agent does not
 * run; the gateway's errors.
 */
export async function talk(deps: ChatDeps, user: SignedInUser, request: ChatAction, signal: AbortSignal) {
  const { message, sessionId } = request
  const named = sessionId ? getSession(deps.db, user.id, sessionId) : null
  if (named) requireWebSession(named)
  const agentId = request.agentId ?? named?.agentId
  const pickSession: TurnOptions['pickSession'] = (tx, agent) => {
    const session = named ?? findCurrentSession(tx, user.id, agent.id)
    return session ?? createSession(deps.clock, tx, user.id, agent.id)
  }
  const turn = await openTurn(deps, user, { message, agentId }, { pickSession })
  const { reply } = await waitForReply(deps, turn, signal)
  return { sessionId: turn.question.sessionId, reply, timestamp: deps.clock.now().getTime() }
}

/** Creates a session, which becomes the current one. @throws AppError `not_found` without such an agent. */
export async function openSession(deps: ChatDeps, user: SignedInUser, agentId: string | undefined) {
  const agent = findAddressee(deps.db, user, agentId)
  const session = await write(deps.db, (tx) => createSession(deps.clock, tx, user.id, agent.id))
  return { sessionId: session.id, status: 'active' }
}

/** @throws AppError `not_found` without such an agent. */
export function showSessions(deps: ChatDeps, user: SignedInUser, agentId: string | undefined) {
  const agent = findAddressee(deps.db, user, agentId)
  return summarizeSessions(deps, user.id, agent.id).map(({ id, status, messageCount, createdAt, lastActivity }) => ({
    id,
    status,
    messageCount,
    createdAt: createdAt.getTime(),
    lastActivity: lastActivity.getTime(),
  }))
}

/**
 * Returns a session with its last 500 messages.
 * @throws AppError `not_found` for a missing session or another user's.
 */
export function showSession(deps: ChatDeps, user: SignedInUser, id: string) {
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

/** Returns the last ten messages of the current session, truncated to 100 characters. @throws AppError `not_found`. */
export function showRecent(deps: ChatDeps, user: SignedInUser, agentId: string | undefined) {
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

/**
 * Lists the available skills, including the user's own. `enabled` is set for skills that the agent loads; without
 * `agentId`, for skills that any agent of the user loads.
 * @throws AppError `not_found` for another user's agent.
 */
export function listSkills(db: Db, user: SignedInUser, agentId: string | undefined) {
  if (agentId !== undefined) getAgent(db, { kind: 'user', user }, agentId)
  const { skills, installed } = listMarketplace(db, user, { agentId })
  const enabled = new Set(installed?.flatMap(({ skillId, enabled }) => (enabled ? [skillId] : [])))
  return skills.map(({ id, name, description }) => ({ id, name, description, enabled: enabled.has(id) }))
}

/**
 * Installs or disables a skill; without `agentId`, for the agent that chat messages go to.
 * @throws AppError `not_found` for another user's agent or skill; as `installSkill`.
 */
export async function chooseSkill(
  deps: Base,
  user: SignedInUser,
  { skillId, enabled, agentId }: { skillId: string; enabled: boolean; agentId?: string | undefined },
): Promise<void> {
  const agent = findAddressee(deps.db, user, agentId)
  const request = { skillId, agentId: agent.id }
  if (enabled) await installSkill(deps, user, request)
  else await enableSkill(deps, user, { ...request, enabled })
}

/** Returns which credentials are set, without their values. */
export function listCredentials(db: Db, userId: string): Record<string, boolean> {
  const isOwn = eq(agentCredentials.userId, userId)
  const rows = db.select({ key: agentCredentials.key }).from(agentCredentials).where(isOwn).all()
  const known = new Set(rows.map(({ key }) => key))
  return Object.fromEntries(CREDENTIALS.map((key) => [key, known.has(key)]))
}

/** Stores a credential sealed, or deletes it if `value` is missing. @returns whether it is set now. */
export async function setCredential(
  { db, clock, sealer }: Base,
  userId: string,
  { key, value }: { key: CredentialKey; value?: string | undefined },
): Promise<boolean> {
  if (!value) {
    const isThis = and(eq(agentCredentials.userId, userId), eq(agentCredentials.key, key))
    await write(db, (tx) => tx.delete(agentCredentials).where(isThis).run())
    return false
  }
  const sealedValue = sealer.seal(value, `agent_credentials:${userId}:${key}`)
  const row = { userId, key, sealedValue, updatedAt: clock.now() }
  const target = [agentCredentials.userId, agentCredentials.key]
  await write(db, (tx) => tx.insert(agentCredentials).values(row).onConflictDoUpdate({ target, set: row }).run())
  return true
}

/** Deletes all credentials of a user, in the caller's transaction. */
export function forgetCredentials(tx: Tx, userId: string): void {
  tx.delete(agentCredentials).where(eq(agentCredentials.userId, userId)).run()
}
