import { type AgentGateway, isNote } from '../../../adapters/gateways/gateway.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import { findReachableEndpoint } from '../../agents/registry/address.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'

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
