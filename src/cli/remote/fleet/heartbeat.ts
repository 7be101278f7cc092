import { AppError } from '../../../core/errors.ts'
import {
  ChangedHeartbeat,
  type HeartbeatConfig,
  OneHeartbeat,
} from '../../../features/conversations/heartbeat/schemas.ts'
import type { ServerClient } from '../client.ts'
import { type Change, toChanges } from './diff/change.ts'
import type { WantedHeartbeat } from './fleet-file.ts'
import { type ListedAgent, listFleet } from './present.ts'

const PATH = '/api/heartbeat'

/** Change of the heartbeat, which all agents of an account share; `wanted` is the request. */
export type HeartbeatPlan = { wanted: WantedHeartbeat; changes: readonly Change[] }

/** Plans the change. @returns null when nothing differs. */
export async function planHeartbeat(
  server: ServerClient,
  wanted: WantedHeartbeat | undefined,
): Promise<HeartbeatPlan | null> {
  if (!wanted) return null
  const present = await readHeartbeat(server)
  const { frequency, enabled, agent } = wanted
  const changes = [
    ...(frequency === undefined ? [] : toChanges('frequency', present.frequency, frequency)),
    ...(enabled === undefined ? [] : toChanges('enabled', present.enabled, enabled)),
    ...(agent === undefined ? [] : toAgentChanges(await listFleet(server), present.agentId, agent)),
  ]
  return changes.length === 0 ? null : { wanted, changes }
}

/** An agent is identified by name or id; one that the file creates has no id yet. */
function toAgentChanges(agents: readonly ListedAgent[], before: string | null, wanted: string | null): Change[] {
  const after = wanted === null ? null : (findAgent(agents, wanted)?.id ?? wanted)
  return before === after ? [] : toChanges('agent', agents.find(({ id }) => id === before)?.name ?? before, wanted)
}

/** Outcome; null when the heartbeat already matches the file. */
export type HeartbeatOutcome = { error: string | null }

/** Applies the change and returns a refusal as the outcome. @throws NotRunningError when the server does not answer. */
export async function setHeartbeat(server: ServerClient, { wanted }: HeartbeatPlan): Promise<HeartbeatOutcome> {
  const { agent, ...change } = wanted
  try {
    const agentId = agent == null ? agent : requireAgent(await listFleet(server), agent).id
    await server.ask(ChangedHeartbeat, 'POST', PATH, { ...change, ...(agentId !== undefined && { agentId }) })
    return { error: null }
  } catch (error) {
    if (error instanceof AppError) return { error: error.message }
    throw error
  }
}

/** Returns the heartbeat in the format of the file. `agents` are all agents of the account. */
export async function exportHeartbeat(
  server: ServerClient,
  agents: readonly ListedAgent[],
): Promise<Required<WantedHeartbeat>> {
  const { frequency, enabled, agentId } = await readHeartbeat(server)
  const limited = agents.find(({ id }) => id === agentId)
  if (!limited) return { frequency, enabled, agent: null }
  const isAlone = agents.filter(({ name }) => name.toLowerCase() === limited.name.toLowerCase()).length === 1
  return { frequency, enabled, agent: isAlone ? limited.name : limited.id }
}

async function readHeartbeat(server: ServerClient): Promise<HeartbeatConfig> {
  return (await server.ask(OneHeartbeat, 'GET', PATH)).heartbeat
}

function findAgent(agents: readonly ListedAgent[], wanted: string): ListedAgent | undefined {
  return (
    agents.find(({ id }) => id === wanted) ?? agents.find(({ name }) => name.toLowerCase() === wanted.toLowerCase())
  )
}

function requireAgent(agents: readonly ListedAgent[], wanted: string): ListedAgent {
  const agent = findAgent(agents, wanted)
  if (agent) return agent
  throw new AppError('not_found', `heartbeat: there is no agent ${wanted}`)
}
