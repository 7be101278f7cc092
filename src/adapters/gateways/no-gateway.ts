import { AppError } from '../../core/errors.ts'
import type { AgentGateway } from './gateway.ts'

/** Speaks to no agent: every call that would is AppError `unavailable` with `reason`, and none is live. */
export function createNoGateway(reason: string): AgentGateway {
  const refuse = async (): Promise<never> => {
    throw new AppError('unavailable', reason)
  }
  return {
    isLive: async () => false,
    readiness: refuse,
    version: refuse,
    health: refuse,
    chat: refuse,
    streamChat: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
    streamTurn: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
    joinTurn: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
    stopTurn: refuse,
    sessions: refuse,
    history: refuse,
    forgetSession: refuse,
    resetMemory: refuse,
    readNotes: refuse,
    writeNote: refuse,
    channels: refuse,
    decidePairing: refuse,
    removePerson: refuse,
    readInstructions: refuse,
    writeInstructions: refuse,
    listMcpTools: refuse,
    callMcpTool: refuse,
    endPairings: refuse,
  }
}
