import { type AgentGateway, isNote } from '../../../adapters/gateways/gateway.ts'
import type { AgentEndpoint } from '../../../adapters/gateways/http.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { findReachableEndpoint } from '../../agents/registry/address.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { recordRevision } from '../../agents/revisions/record.ts'
import { type StorageQuota, withinWorkspaceQuota } from '../../agents/storage/quota.ts'
import type { Base } from '../../base.ts'

export type NoteDeps = { sealer: Sealer; gateway: Pick<AgentGateway, 'readNotes' | 'writeNote'> }

/** A fact or note; `value` is any JSON value. */
export type Remembered = { agentId: string; key: string; value: unknown; updatedAt: Date }

/** Reads the note files of OpenClaw agents; `unread` are ids of agents that do not run or do not answer. */
export async function readNotes(
  deps: NoteDeps,
  agents: readonly AgentRow[],
): Promise<{ notes: Remembered[]; unread: string[] }> {
  const readers = agents.filter(({ kind }) => kind === 'openclaw')
  const read = await Promise.all(readers.map((agent) => readNotesOf(deps, agent)))
  return {
    notes: read.flatMap((notes) => notes ?? []),
    unread: readers.filter((_, index) => read[index] === null).map(({ id }) => id),
  }
}

/** Returns whether `key` names a note file of this agent. */
export function isNoteOf(agent: AgentRow, key: string): boolean {
  return isNote(agent.kind, key)
}

/**
 * Replaces a note file; an empty text deletes it.
 * @throws AppError `conflict` while the agent does not run; the gateway's errors.
 */
export async function writeNote(deps: NoteDeps, agent: AgentRow, path: string, text: string): Promise<void> {
  const endpoint = findReachableEndpoint(deps.sealer, agent)
  if (!endpoint) {
    const message = `${path} is a file of the agent, which is not running`
    throw new AppError('conflict', message, { code: 'AGENT_NOT_RUNNING' })
  }
  await deps.gateway.writeNote(endpoint, { path, text })
}

/** Returns null while the notes cannot be read. */
async function readNotesOf(deps: NoteDeps, agent: AgentRow): Promise<Remembered[] | null> {
  const endpoint = findReachableEndpoint(deps.sealer, agent)
  if (!endpoint) return null
  try {
    const notes = await deps.gateway.readNotes(endpoint)
    return notes.map(({ path, text, updatedAt }) => ({ agentId: agent.id, key: path, value: text, updatedAt }))
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

export type InstructionDeps = Base & {
  storage: Pick<StorageQuota, 'within'>
  gateway: Pick<AgentGateway, 'readInstructions' | 'writeInstructions'>
}

/**
 * Returns the owner's instructions for every session: the file `AGENT.md` of the workspace.
 * @throws AppError `not_found` for a missing agent and for another user's, `conflict` while it does not run and for
 * OpenClaw; the gateway's errors.
 */
export async function readInstructions(
  deps: InstructionDeps,
  user: SignedInUser,
  agentId: string,
): Promise<string | null> {
  const { endpoint } = requireRunning(deps, user, agentId)
  return deps.gateway.readInstructions(endpoint)
}

/** Replaces the instructions from the next turn on. @throws as `readInstructions`, and AppError `storage_full`. */
export async function writeInstructions(
  deps: InstructionDeps,
  user: SignedInUser,
  agentId: string,
  text: string,
): Promise<void> {
  const { agent, endpoint } = requireRunning(deps, user, agentId)
  await withinWorkspaceQuota(deps, { agent }, Buffer.byteLength(text), () =>
    deps.gateway.writeInstructions(endpoint, text),
  )
  await write(deps.db, (tx) => recordRevision(deps, tx, agentId, { author: user.id, instructions: text }))
}

function requireRunning(
  deps: InstructionDeps,
  user: SignedInUser,
  agentId: string,
): { agent: AgentRow; endpoint: AgentEndpoint } {
  const agent = getAgent(deps.db, { kind: 'user', user }, agentId)
  const endpoint = findReachableEndpoint(deps.sealer, agent)
  if (endpoint) return { agent, endpoint }
  const message = 'AGENT.md is a file of the agent, which is not running'
  throw new AppError('conflict', message, { code: 'AGENT_NOT_RUNNING' })
}
