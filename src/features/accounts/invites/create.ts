import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../audit/audit.ts'
import { NO_PLAN, requirePlan } from '../plans/plans.ts'
import { hashInvite } from './redeem.ts'
import { invites } from './tables.ts'

/** 80 bits: not to be guessed, however many are open. */
const CODE_BYTES = 10

/**
 * Creates an invitation for one sign-up and returns its code, which is stored nowhere. `createdBy` as in the table; without a
 * `plan` the new account gets the default one.
 * @throws AppError `invalid` for an unknown plan.
 */
export async function createInvite(
  deps: { db: Db; clock: Clock },
  createdBy: string,
  plan: string | null = null,
): Promise<string> {
  const code = randomBytes(CODE_BYTES).toString('hex')
  const now = deps.clock.now()
  await write(deps.db, (tx) => {
    const codeHash = hashInvite(code)
    if (plan !== null && plan !== NO_PLAN.name) requirePlan(tx, plan)
    tx.insert(invites).values({ codeHash, createdBy, createdAt: now, plan }).run()
    const target = `invite:${codeHash.slice(0, 16)}`
    recordAudit(tx, { actor: createdBy, action: 'invite.create', target, detail: plan === null ? {} : { plan } }, now)
  })
  return code
}
