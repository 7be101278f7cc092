/**
 * Lets one piece of work at a time change what runs for an agent: a change somebody asked for, a repair, or the watch that
 * compares rows with the engine. In memory, because only one server runs on a database.
 */
export type AgentTurns = {
  /** Runs `work` when all work that came before for this agent has ended. */
  take<T>(agentId: string, work: () => Promise<T>): Promise<T>
  /** Does somebody have or wait for the turn of this agent? */
  isTaken(agentId: string): boolean
}

export function createAgentTurns(): AgentTurns {
  const last = new Map<string, Promise<unknown>>()
  return {
    async take(agentId, work) {
      const before = last.get(agentId)
      const mine = (before ?? Promise.resolve()).then(work, work)
      last.set(agentId, mine)
      try {
        return await mine
      } finally {
        if (last.get(agentId) === mine) last.delete(agentId)
      }
    },
    isTaken: (agentId) => last.has(agentId),
  }
}
