import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { newOrderedId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { endEmailTokens } from '../../accounts/notifications/email-tokens.ts'
import { listPlanNames, NO_PLAN } from '../../accounts/plans/plans.ts'
import { creditReferral } from '../../accounts/referrals/referrals.ts'
import { endSessions } from '../../accounts/sessions/sessions.ts'
import { removeTwoFactor } from '../../accounts/two-factor/two-factor.ts'
import { sessions, type UserRow, users } from '../../accounts/users/tables.ts'
import { createGrantCredits, setCredits } from '../../payments/ledger/credits.ts'
import type { AccountChange } from './schemas.ts'
import { getUser } from './users.ts'

/** The author of an audit entry: an administrator's user id and address, or the id `cli`. */
export type Administrator = { id: string; address: string | null }

export const CLI: Administrator = { id: 'cli', address: null }

/**
 * Changes an account and records the old and new values in the audit log. Disabling an account ends its sessions and
 * mailed links; its keys and agents' tokens are refused while it is disabled.
 * @throws AppError `not_found`, `invalid` when an administrator disables their own account or for an unknown plan.
 */
export async function changeAccount(
  deps: { db: Db; clock: Clock },
  by: Administrator,
  id: string,
  change: AccountChange,
): Promise<UserRow> {
  if (change.disabled && id === by.id) throw new AppError('invalid', 'You cannot disable your own account')
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const before = getUser(tx, id)
    if (change.plan !== undefined) requirePlanOrFree(tx, change.plan)
    if (change.credits !== undefined) {
      const memo = 'Set by an administrator'
      setCredits(tx, deps, { userId: id, credits: change.credits, cause: newOrderedId('administration'), memo })
    }
    const after = updateUser(tx, before, { ...toColumns(change, before, now), updatedAt: now })
    if (change.emailVerified) creditReferral(tx, { ...deps, grantCredits: createGrantCredits(deps) }, id)
    if (change.disabled) {
      endSessions(tx, id)
      endEmailTokens(tx, id)
    }
    audit(tx, by, { action: 'account.change', target: id, detail: describe(before, after) }, now)
    return after
  })
}

/** Grants or revokes the administrator role in the account's row. @throws AppError `not_found`. */
export async function setAccountAdmin(
  deps: { db: Db; clock: Clock },
  by: Administrator,
  id: string,
  isAdmin: boolean,
): Promise<UserRow> {
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const before = getUser(tx, id)
    const after = updateUser(tx, before, { isAdmin, updatedAt: now })
    audit(tx, by, { action: 'account.change', target: id, detail: describe(before, after) }, now)
    return after
  })
}

/** Ends all sessions of an account. @returns the number of ended sessions. @throws AppError `not_found`. */
export async function endAccountSessions(
  deps: { db: Db; clock: Clock },
  by: Administrator,
  id: string,
): Promise<number> {
  return write(deps.db, (tx) => {
    const { id: userId } = getUser(tx, id)
    const ended = tx.select({ id: sessions.tokenHash }).from(sessions).where(eq(sessions.userId, userId)).all().length
    endSessions(tx, userId)
    audit(tx, by, { action: 'account.end-sessions', target: userId, detail: { ended } }, deps.clock.now())
    return ended
  })
}

/**
 * Turns off two-factor sign-in for a user who lost the authenticator and the recovery codes.
 * @throws AppError `not_found`.
 */
export async function removeAccountTwoFactor(
  deps: { db: Db; clock: Clock },
  by: Administrator,
  id: string,
): Promise<UserRow> {
  return write(deps.db, (tx) => {
    const now = deps.clock.now()
    const { id: userId } = getUser(tx, id)
    removeTwoFactor(tx, userId, now)
    audit(tx, by, { action: 'account.remove-two-factor', target: userId }, now)
    return getUser(tx, userId)
  })
}

function requirePlanOrFree(tx: Tx, name: string): void {
  const names = [NO_PLAN.name, ...listPlanNames(tx)]
  if (!names.includes(name)) throw new AppError('invalid', `plan must be ${names.join(', ')}`)
}

/** Adds an audit entry for an action of `by`. */
export function audit(
  tx: Tx,
  by: Administrator,
  entry: { action: string; target: string; detail?: Record<string, unknown> },
  now: Date,
): void {
  recordAudit(tx, { ...entry, actor: by.id, address: by.address }, now)
}

function toColumns(change: AccountChange, before: UserRow, now: Date): Partial<UserRow> {
  const ofPlan = change.plan === undefined ? undefined : change.plan === NO_PLAN.name ? 'inactive' : 'active'
  const status = change.subscriptionStatus ?? ofPlan
  return {
    ...(change.disabled !== undefined && { disabledAt: change.disabled ? (before.disabledAt ?? now) : null }),
    ...(change.emailVerified !== undefined && {
      emailVerifiedAt: change.emailVerified ? (before.emailVerifiedAt ?? now) : null,
    }),
    ...(change.plan !== undefined && { plan: change.plan }),
    ...(status !== undefined && { subscriptionStatus: status }),
  }
}

function updateUser(tx: Tx, before: UserRow, columns: Partial<UserRow>): UserRow {
  return tx.update(users).set(columns).where(eq(users.id, before.id)).returning().get()
}

/** Returns the old and new value of each changed field, such as `{plan: ['free', 'solo']}`. */
function describe(before: UserRow, after: UserRow): Record<string, unknown> {
  const shown = (row: UserRow) => ({
    disabled: row.disabledAt !== null,
    plan: row.plan,
    subscriptionStatus: row.subscriptionStatus,
    credits: row.credits,
    emailVerified: row.emailVerifiedAt !== null,
    admin: row.isAdmin,
  })
  const was = Object.entries(shown(before))
  const is = Object.values(shown(after))
  return Object.fromEntries(
    was.map(([name, value], index) => [name, [value, is[index]]] as const).filter(([, [old, now]]) => old !== now),
  )
}
