import type { Clock } from '../../../core/clock.ts'

/**
 * Who has to do with which agent now, and when that was last: in memory, because a platform that is started again counts the
 * idle time of its agents anew.
 */
export type AgentActivity = {
  /** The agent is needed until what this returns is called, however often that is. */
  hold(agentId: string): () => void
  /** The agent did something, or was asked to. */
  touch(agentId: string): void
  /** Is the agent needed now, or was it since `time`? */
  isUsedSince(agentId: string, time: Date): boolean
  /** Lets go of what says nothing any more when no earlier time than `time` is asked about. */
  forgetBefore(time: Date): void
}

type Use = { holders: number; usedAt: Date }

export function createAgentActivity(clock: Clock): AgentActivity {
  const openedAt = clock.now()
  const uses = new Map<string, Use>()
  const touch = (agentId: string): Use => {
    const use = uses.get(agentId) ?? { holders: 0, usedAt: openedAt }
    use.usedAt = clock.now()
    uses.set(agentId, use)
    return use
  }
  return {
    hold(agentId) {
      touch(agentId).holders += 1
      let isHeld = true
      return () => {
        if (isHeld) touch(agentId).holders -= 1
        isHeld = false
      }
    },
    touch: (agentId) => void touch(agentId),
    isUsedSince(agentId, time) {
      const { holders, usedAt } = uses.get(agentId) ?? { holders: 0, usedAt: openedAt }
      return holders > 0 || usedAt > time
    },
    forgetBefore(time) {
      for (const [id, { holders, usedAt }] of uses) if (holders === 0 && usedAt <= time) uses.delete(id)
    },
  }
}
