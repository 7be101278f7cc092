import { and, eq, gt } from 'drizzle-orm'
import type { EarlyEnd } from '../../../core/agents/turn-limits.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { notices } from '../../accounts/notices/tables.ts'
import type { TellOwner } from '../../accounts/notices/tell.ts'
import { getAgent } from '../../agents/registry/agents.ts'

/** Further turns that end so are not told within that time: an agent that goes in circles does so often. */
const TELL_PAUSE_MS = 60 * 60_000
const KIND = 'turn_limited'

/** Tells the owner that a limit has ended a turn of their agent; nobody is told of an agent without an owner. */
export async function tellEarlyEnd(
  { db, clock, tellOwner }: { db: Db; clock: Clock; tellOwner: TellOwner },
  agentId: string,
  end: EarlyEnd,
): Promise<void> {
  await write(db, (tx) => {
    const { id, name, ownerId: userId } = getAgent(tx, { kind: 'operator' }, agentId)
    if (userId === null || isToldOf(tx, agentId, clock.now())) return
    tellOwner(tx, { userId, agent: { id, name }, kind: KIND, text: describe(end) })
  })
}

function isToldOf(tx: Tx, agentId: string, now: Date): boolean {
  const isRecent = gt(notices.createdAt, new Date(now.getTime() - TELL_PAUSE_MS))
  const isThis = and(eq(notices.agentId, agentId), eq(notices.kind, KIND), isRecent)
  return tx.select({ id: notices.id }).from(notices).where(isThis).get() !== undefined
}

function describe({ reason, tool }: EarlyEnd): string {
  switch (reason) {
    case 'loop':
      return `It called ${tool ?? 'a tool'} with the same arguments again and again, so the turn was ended. What it had said is kept.`
    case 'cost':
      return 'A turn has cost as much as you allow for one, so it was ended. What it had said is kept; its tools page has the limit.'
    case 'steps':
      return 'A turn has reached the limits that you have set for one, so it was ended. What it had said is kept; its tools page has the limits.'
  }
}
