import { count, eq, inArray, isNull } from 'drizzle-orm'
import { newId } from '../../../core/ids.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { agents } from '../registry/tables.ts'
import type { RecordDeps } from './record.ts'
import { hostFaults, watchdogs } from './tables.ts'

/** Fewer agents than these may fail together by chance. */
const MIN_FAILING = 3

/**
 * Do most agents fail together? Then the host is to blame, and to repair them one after another would help nobody. Tells
 * operators once when that begins.
 */
export async function findHostFault(deps: RecordDeps & { db: Db }): Promise<boolean> {
  const { failing, watched } = countFailing(deps.db)
  const isFault = failing >= MIN_FAILING && failing * 2 > watched
  const known = deps.db.select({ id: hostFaults.id }).from(hostFaults).where(isNull(hostFaults.endedAt)).get()
  if (isFault === (known !== undefined)) return isFault
  const now = deps.clock.now()
  await write(deps.db, (tx) => {
    if (known) return void tx.update(hostFaults).set({ endedAt: now }).where(eq(hostFaults.id, known.id)).run()
    const id = newId('flt')
    tx.insert(hostFaults).values({ id, failing, watched, startedAt: now }).run()
    deps.notify(tx, describeHostFault(id, { failing, watched }, now))
  })
  return isFault
}

function describeHostFault(id: string, { failing, watched }: ReturnType<typeof countFailing>, now: Date) {
  return {
    id,
    kind: 'host_fault' as const,
    at: now.toISOString(),
    agent: null,
    status: `${failing} of ${watched} agents fail together: no agent is repaired until most of them answer again`,
    attempt: 0,
    exitCode: null,
    outOfMemory: false,
  }
}

function countFailing(db: Db): { failing: number; watched: number } {
  const rows = db
    .select({ state: watchdogs.state, agents: count() })
    .from(watchdogs)
    .innerJoin(agents, eq(agents.id, watchdogs.agentId))
    .where(inArray(agents.status, ['running']))
    .groupBy(watchdogs.state)
    .all()
  const sum = (states: readonly string[]) =>
    rows.filter(({ state }) => states.includes(state)).reduce((total, row) => total + row.agents, 0)
  return { failing: sum(['degraded', 'repairing']), watched: sum(['starting', 'running', 'degraded', 'repairing']) }
}
