import type { AgentEndpoint } from '../../../adapters/gateways/endpoint.ts'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import { orAborted } from '../../../core/concurrency/or-aborted.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { findAddress } from '../registry/endpoint.ts'
import { findAgentRow } from '../registry/list.ts'
import type { AgentActivity } from './activity.ts'
import type { Wake } from './wake.ts'

export type AddressDeps = { db: Db; sealer: Sealer; activity: AgentActivity; wake: Wake }

/**
 * `gateway` for those who need an agent: one that sleeps is woken before it is spoken to, and none falls asleep meanwhile.
 * Endpoints without an agent's id, of whoever looks at what runs, are passed on as they are.
 * @throws as `AgentGateway`; AppError `conflict` AGENT_NOT_RUNNING when it was stopped meanwhile, and as `Wake`.
 */
export function createWakingGateway(gateway: AgentGateway, deps: AddressDeps): AgentGateway {
  const whileAwake =
    <Rest extends unknown[], Answer>(ask: (endpoint: AgentEndpoint, ...rest: Rest) => Promise<Answer>) =>
    async (endpoint: AgentEndpoint, ...rest: Rest): Promise<Answer> => {
      const { awake, release } = await holdAwake(deps, endpoint)
      return ask(awake, ...rest).finally(release)
    }
  const streamAwake = <Asked, Part>(
    ask: (endpoint: AgentEndpoint, asked: Asked, signal: AbortSignal) => AsyncIterable<Part>,
  ) =>
    async function* (endpoint: AgentEndpoint, asked: Asked, signal: AbortSignal): AsyncGenerator<Part, void> {
      const { awake, release } = await holdAwake(deps, endpoint, signal)
      try {
        yield* ask(awake, asked, signal)
      } finally {
        release()
      }
    }
  return {
    isLive: gateway.isLive,
    readiness: gateway.readiness,
    version: whileAwake(gateway.version),
    health: whileAwake(gateway.health),
    async chat(endpoint, request, signal) {
      const { awake, release } = await holdAwake(deps, endpoint, signal)
      return gateway.chat(awake, request, signal).finally(release)
    },
    streamChat: streamAwake(gateway.streamChat),
    streamTurn: streamAwake(gateway.streamTurn),
    joinTurn: streamAwake(gateway.joinTurn),
    // An agent that sleeps has no turn to stop.
    stopTurn: async (endpoint, turnId) =>
      isAsleep(deps, endpoint) ? undefined : whileAwake(gateway.stopTurn)(endpoint, turnId),
    sessions: whileAwake(gateway.sessions),
    history: whileAwake(gateway.history),
    forgetSession: whileAwake(gateway.forgetSession),
    resetMemory: whileAwake(gateway.resetMemory),
    readNotes: whileAwake(gateway.readNotes),
    writeNote: whileAwake(gateway.writeNote),
    channels: whileAwake(gateway.channels),
    decidePairing: whileAwake(gateway.decidePairing),
    removePerson: whileAwake(gateway.removePerson),
    readInstructions: whileAwake(gateway.readInstructions),
    writeInstructions: whileAwake(gateway.writeInstructions),
    listMcpTools: whileAwake(gateway.listMcpTools),
    callMcpTool: whileAwake(gateway.callMcpTool),
    endPairings: whileAwake(gateway.endPairings),
  }
}

const NEVER = new AbortController().signal

/** Held before its row is read: from then on it cannot fall asleep. It may listen elsewhere after it was woken. */
async function holdAwake(
  deps: AddressDeps,
  endpoint: AgentEndpoint,
  signal = NEVER,
): Promise<{ awake: AgentEndpoint; release: () => void }> {
  const { agentId } = endpoint
  if (agentId === undefined) return { awake: endpoint, release: () => undefined }
  const release = deps.activity.hold(agentId)
  if (!isAsleep(deps, endpoint)) return { awake: endpoint, release }
  try {
    await orAborted(deps.wake(agentId), signal)
    const agent = findAgentRow(deps.db, agentId)
    const awake = agent && findAddress(deps.sealer, agent)
    if (!awake) throw new AppError('conflict', 'Agent is not running', { code: 'AGENT_NOT_RUNNING' })
    return { awake, release }
  } catch (error) {
    release()
    throw error
  }
}

function isAsleep({ db }: AddressDeps, { agentId }: AgentEndpoint): boolean {
  return agentId !== undefined && findAgentRow(db, agentId)?.status === 'sleeping'
}
