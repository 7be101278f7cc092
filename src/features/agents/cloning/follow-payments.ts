import { and, asc, eq, isNotNull, isNull, lte } from 'drizzle-orm'
import type { TokenPayments } from '../../../adapters/chain/token-payments.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { recordAudit } from '../../accounts/audit/audit.ts'
import { enqueueMail } from '../../accounts/notifications/send-mail.ts'
import { users } from '../../accounts/users/tables.ts'
import type { Base } from '../../base.ts'
import { agents } from '../registry/tables.ts'
import { type BookClonePayment, toReference } from './clone.ts'
import { type ClonePaymentRow, clonePayments } from './tables.ts'

type FollowDeps = Base & { clonePayments: TokenPayments; bookClonePayment: BookClonePayment }

const EVERY_MS = 10_000
const BATCH = 20
const PAUSE_MS = 30_000
/** Confirmations after which a payment is final. On a chain without new blocks an hour counts as final too. */
const FINAL_CONFIRMATIONS = 12
const FINAL_AFTER_MS = 3_600_000
/** A missing payment may reappear in another block until this age. */
const GONE_AFTER_MS = 24 * 3_600_000

/** Checks clone payments until they are final and flags those that a chain reorganization removed. */
export function followClonePaymentsJob(deps: FollowDeps): RepeatingJob {
  return { name: 'clone payments', everyMs: EVERY_MS, run: () => followClonePayments(deps) }
}

/** Checks the payments that are due. A payment whose chain does not respond is retried in the next round. */
export async function followClonePayments(deps: FollowDeps): Promise<void> {
  const due = lte(clonePayments.checkAt, deps.clock.now())
  const rows = deps.db.select().from(clonePayments).where(due).orderBy(asc(clonePayments.checkAt)).limit(BATCH).all()
  for (const row of rows) {
    try {
      await followOne(deps, row)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      deps.log.warn(
        { transactionHash: row.transactionHash, error: error.message },
        'a clone payment could not be looked at',
      )
      await write(deps.db, (tx) => change(tx, row, { checkAt: later(deps.clock.now()) }))
    }
  }
}

async function followOne(deps: FollowDeps, row: ClonePaymentRow): Promise<void> {
  const found = row.transactionHash.startsWith('0x')
    ? await deps.clonePayments.find(`0x${row.transactionHash.slice(2)}`)
    : null
  const now = deps.clock.now()
  const ageMs = now.getTime() - row.claimedAt.getTime()
  const isFinal = found ? found.confirmations >= FINAL_CONFIRMATIONS || ageMs > FINAL_AFTER_MS : ageMs > GONE_AFTER_MS
  const checkAt = isFinal ? null : later(now)
  await write(deps.db, (tx) => {
    if (!found && row.undoneAt === null) markUndone(deps, tx, row, now)
    if (found && row.undoneAt !== null) markBack(deps, tx, row, now)
    change(tx, row, { checkAt })
  })
}

/** The clone is kept; the operator decides whether to delete it. */
function markUndone(deps: FollowDeps, tx: Tx, row: ClonePaymentRow, now: Date): void {
  if (!flag(deps, tx, row, { undoneAt: now, action: 'clone.payment.undone', now })) return
  const { agentId, transactionHash } = row
  notifyOwner(tx, deps, agentId)
  deps.log.warn({ agentId, transactionHash }, 'the chain took back the payment for a clone')
}

function notifyOwner(tx: Tx, { enqueue }: FollowDeps, agentId: string | null): void {
  const owner = tx
    .select({ id: users.id, email: users.email })
    .from(agents)
    .innerJoin(users, eq(users.id, agents.ownerId))
    .where(eq(agents.id, agentId ?? ''))
    .get()
  if (owner) enqueueMail(tx, enqueue, { mail: 'clone-payment-undone', userId: owner.id, address: owner.email })
}

/** Returns when the chain dropped the payment for a clone; null for other agents and valid payments. */
export function findUndonePayment(db: Db, agentId: string): Date | null {
  const isUndone = and(eq(clonePayments.agentId, agentId), isNotNull(clonePayments.undoneAt))
  return db.select({ at: clonePayments.undoneAt }).from(clonePayments).where(isUndone).get()?.at ?? null
}

function markBack(deps: FollowDeps, tx: Tx, row: ClonePaymentRow, now: Date): void {
  flag(deps, tx, row, { undoneAt: null, action: 'clone.payment.restored', now })
}

type Flag = { undoneAt: Date | null; action: string; now: Date }

/** Sets or clears `undoneAt`. @returns false when a concurrent check changed the row first. */
function flag(
  { bookClonePayment }: FollowDeps,
  tx: Tx,
  row: ClonePaymentRow,
  { undoneAt, action, now }: Flag,
): boolean {
  const isAsItWas = and(
    isThis(row),
    row.undoneAt === null ? isNull(clonePayments.undoneAt) : eq(clonePayments.undoneAt, row.undoneAt),
  )
  if (tx.update(clonePayments).set({ undoneAt }).where(isAsItWas).run().changes === 0) return false
  const { agentId, transactionHash, amountMicroUsd } = row
  recordAudit(tx, { actor: 'system', action, target: agentId ?? transactionHash, detail: { transactionHash } }, now)
  if (amountMicroUsd !== null) {
    bookClonePayment(tx, { reference: toReference(row), amountMicroUsd, isUndone: undoneAt !== null })
  }
  return true
}

function change(tx: Tx, row: ClonePaymentRow, columns: Partial<ClonePaymentRow>): void {
  tx.update(clonePayments).set(columns).where(isThis(row)).run()
}

function isThis({ chainId, transactionHash, logIndex }: ClonePaymentRow) {
  return and(
    eq(clonePayments.chainId, chainId),
    eq(clonePayments.transactionHash, transactionHash),
    eq(clonePayments.logIndex, logIndex),
  )
}

function later(now: Date): Date {
  return new Date(now.getTime() + PAUSE_MS)
}
