import type { Clock } from '../../../core/clock.ts'

/** An agent counts as followed until then, so that a client which comes back finds it so. */
const LINGER_MS = 30_000

type Viewed = { open: Set<AbortController>; leftAt: number }

/** Who follows which agent's log in this process. */
export type LogViewers = {
  /** `signal` aborts when the streams of the agent are ended; `leave` is to be called at the end. */
  enter(agentId: string): { signal: AbortSignal; leave: () => void }
  count(agentId: string): number
  isActive(agentId: string): boolean
  listActive(): string[]
  /** Ends every stream of the agent. */
  stop(agentId: string): void
}

export function createLogViewers(clock: Clock): LogViewers {
  const viewed = new Map<string, Viewed>()
  const forgetOld = () => {
    const before = clock.now().getTime() - LINGER_MS
    for (const [agentId, { open, leftAt }] of viewed) {
      if (open.size === 0 && leftAt < before) viewed.delete(agentId)
    }
  }

  return {
    enter(agentId) {
      forgetOld()
      const found = viewed.get(agentId) ?? { open: new Set(), leftAt: 0 }
      viewed.set(agentId, found)
      const ending = new AbortController()
      found.open.add(ending)
      const leave = () => {
        found.open.delete(ending)
        found.leftAt = clock.now().getTime()
      }
      return { signal: ending.signal, leave }
    },
    count: (agentId) => viewed.get(agentId)?.open.size ?? 0,
    isActive(agentId) {
      forgetOld()
      return viewed.has(agentId)
    },
    listActive() {
      forgetOld()
      return [...viewed.keys()]
    },
    stop(agentId) {
      for (const ending of viewed.get(agentId)?.open ?? []) ending.abort()
      viewed.delete(agentId)
    },
  }
}
