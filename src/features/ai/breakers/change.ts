import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { toMicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { type Paused, pauseId } from './breakers.ts'
import type { ChangeCapsRequest } from './schemas.ts'
import { agentCaps, pauses } from './tables.ts'

export type ChangeDeps = { db: Db; clock: Clock }
/** The user who makes a change, and the address. */
export type PausingUser = { id: string; address: string | null }

/** Sets the daily caps of an agent, effective from its next call. */
export async function changeCaps(
  { db, clock }: ChangeDeps,
  caller: PausingUser,
  agentId: string,
  request: ChangeCapsRequest,
): Promise<void> {
  const now = clock.now()
  const detail = toCaps(request)
  const row = { agentId, ...detail, updatedAt: now }
  await write(db, (tx) => {
    tx.insert(agentCaps).values(row).onConflictDoUpdate({ target: agentCaps.agentId, set: row }).run()
    recordAudit(tx, { actor: caller.id, action: 'agent.caps', target: agentId, detail, address: caller.address }, now)
  })
}

/** Fields that are left out stay unchanged; null removes a cap. */
function toCaps({ tokensPerDay, costUsdPerDay }: ChangeCapsRequest) {
  return {
    ...(tokensPerDay !== undefined && { tokensPerDay }),
    ...(costUsdPerDay !== undefined && {
      costMicroUsdPerDay: costUsdPerDay === null ? null : toMicroUsd(costUsdPerDay),
    }),
  }
}

/** Blocks new model calls; running ones finish. A second pause replaces the reason. */
export async function pause(
  { db, clock }: ChangeDeps,
  caller: PausingUser,
  what: Paused,
  reason: string,
): Promise<void> {
  const now = clock.now()
  await write(db, (tx) => {
    tx.insert(pauses)
      .values({ id: pauseId(what), ...what, reason, createdAt: now })
      .onConflictDoUpdate({ target: pauses.id, set: { reason } })
      .run()
    recordAudit(tx, { ...toLine(caller, what), action: 'agents.pause', detail: { scope: what.scope, reason } }, now)
  })
}

export async function resume({ db, clock }: ChangeDeps, caller: PausingUser, what: Paused): Promise<void> {
  await write(db, (tx) => {
    const isPaused =
      tx
        .delete(pauses)
        .where(eq(pauses.id, pauseId(what)))
        .run().changes > 0
    if (!isPaused) return
    const { scope } = what
    recordAudit(tx, { ...toLine(caller, what), action: 'agents.resume', detail: { scope } }, clock.now())
  })
}

function toLine(caller: PausingUser, what: Paused) {
  return { actor: caller.id, target: what.scope === 'agent' ? what.agentId : what.scope, address: caller.address }
}
