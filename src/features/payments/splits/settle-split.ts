import { and, eq, isNull, lte, sql } from 'drizzle-orm'
import { z } from 'zod'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { prepareOnce } from '../../../db/prepare-once.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { Base } from '../../base.ts'
import type { TokenChains } from '../wallets/balance.ts'
import { orderPayment } from '../wallets/order.ts'
import { managedWallets, type PaymentRow, type WalletRow, walletPayments } from '../wallets/tables.ts'
import { findSplitWallet, START_JOB } from './create-split.ts'
import { type PartRow, royaltyParts, royaltySplits, type SplitRow } from './tables.ts'

type SettleDeps = Base & { approvalExpiryMinutes: number; isStandby: boolean; tokenChains: TokenChains }

/** Payments per transaction, so other writes run between. */
const BATCH = 25
const WAITING_MS = 30_000
const LOOKING_MS = 2000
/** Splits per round. */
const ROUND = 50

/** The splits that are due, the longest waiting first. */
const dueSplits = prepareOnce((db) =>
  db
    .select({ id: royaltySplits.id })
    .from(royaltySplits)
    .where(lte(royaltySplits.checkAt, sql.placeholder('nowMs')))
    .orderBy(royaltySplits.checkAt)
    .limit(ROUND)
    .prepare(),
)

/**
 * Advances a split: orders missing payments, then derives its status. Safe to call concurrently and repeatedly, because
 * the reference of each part allows one payment.
 */
export async function settleSplit(deps: SettleDeps, id: number): Promise<void> {
  // A standby copy pays nothing; the original does.
  if (deps.isStandby) return
  const obstacle = await write(deps.db, (tx) => findObstacle(tx, deps, id))
  if (obstacle !== null) return
  while ((await write(deps.db, (tx) => orderBatch(tx, deps, id))) > 0);
  await write(deps.db, (tx) => takeStock(tx, deps, id))
}

/** Returns why a split cannot be paid now, and stores it; null when it can be paid or has started. */
function findObstacle(tx: Tx, deps: SettleDeps, id: number): string | null {
  const split = getOpenSplit(tx, id)
  if (!split) return 'it is over'
  const wallet = findWalletOf(tx, split)
  const reason = explainWaiting(deps, wallet)
  const checkAt = new Date(deps.clock.now().getTime() + (reason === null ? LOOKING_MS : WAITING_MS))
  const isBegun = split.status !== 'queued'
  const change = reason === null && !isBegun ? { status: 'processing' as const, reason: null } : {}
  const waiting = reason === null || isBegun ? {} : { reason }
  tx.update(royaltySplits)
    .set({ ...change, ...waiting, walletId: wallet?.id ?? null, checkAt })
    .where(eq(royaltySplits.id, id))
    .run()
  return isBegun ? null : reason
}

function explainWaiting({ tokenChains }: SettleDeps, wallet: WalletRow | null): string | null {
  if (!tokenChains.USDC.terms.isConfigured) return 'Payment in USDC is not configured: set BASE_RPC_URL'
  return wallet === null ? 'fromAddress is no wallet of this user that the platform keeps' : null
}

/** @returns the number of parts handled; 0 when every part has its payment. */
function orderBatch(tx: Tx, deps: SettleDeps, id: number): number {
  const split = getOpenSplit(tx, id)
  const wallet = split && findWalletOf(tx, split)
  if (!split || !wallet) return 0
  const isMissing = and(
    eq(royaltyParts.splitId, id),
    isNull(royaltyParts.paymentId),
    isNull(royaltyParts.failure),
    eq(royaltyParts.isSkipped, false),
  )
  const parts = tx.select().from(royaltyParts).where(isMissing).orderBy(royaltyParts.position).limit(BATCH).all()
  for (const part of parts) orderPart(tx, deps, { split, wallet, part })
  return parts.length
}

type Due = { split: SplitRow; wallet: WalletRow; part: PartRow }

/** A part that the wallet's policy forbids fails alone. */
function orderPart(tx: Tx, deps: SettleDeps, { split, wallet, part }: Due): void {
  const { chainId } = deps.tokenChains.USDC.terms
  const isThis = and(eq(royaltyParts.splitId, part.splitId), eq(royaltyParts.position, part.position))
  try {
    const payment = orderPayment(tx, deps, {
      wallet,
      userId: split.ownerId,
      agentId: wallet.agentId,
      kind: 'transfer',
      purpose: `split ${split.id}`,
      reference: `split:${split.id}:${part.position}`,
      recipient: part.address,
      currency: 'USDC',
      chainId,
      amountMicroUsd: part.amountMicroUsd,
      keepsTrying: true,
    })
    tx.update(royaltyParts).set({ paymentId: payment.id }).where(isThis).run()
    // No request waits for it, so the wallets' job sends it.
    if (payment.status === 'created') {
      tx.update(walletPayments).set({ checkAt: deps.clock.now() }).where(eq(walletPayments.id, payment.id)).run()
    }
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'forbidden') throw error
    tx.update(royaltyParts).set({ failure: error.message }).where(isThis).run()
  }
}

/**
 * Derives the status of a split from its payments. It stays open until all are final, because a chain can revert
 * blocks.
 */
function takeStock(tx: Tx, deps: SettleDeps, id: number): void {
  const split = getOpenSplit(tx, id)
  if (!split) return
  const parts = listPartPayments(tx, id)
  const { status, reason } = summarize(parts)
  const isFinal = parts.every(({ part, payment }) => part.isSkipped || part.failure !== null || payment?.finalAt)
  const now = deps.clock.now()
  const completedAt = status === 'processing' ? null : (split.completedAt ?? now)
  const checkAt = isFinal ? null : new Date(now.getTime() + (status === 'processing' ? LOOKING_MS : WAITING_MS))
  tx.update(royaltySplits).set({ status, reason, completedAt, checkAt }).where(eq(royaltySplits.id, id)).run()
}

type PaidPart = { part: PartRow; payment: PaymentRow | null }

function summarize(parts: readonly PaidPart[]): Pick<SplitRow, 'reason'> & { status: SplitRow['status'] } {
  const due = parts.filter(({ part }) => !part.isSkipped)
  const isFailed = ({ part, payment }: PaidPart) =>
    part.failure !== null || payment?.status === 'failed' || payment?.status === 'denied'
  const failed = due.filter(isFailed)
  const paid = due.filter(({ payment }) => payment?.status === 'succeeded')
  const open = due.filter((entry) => !isFailed(entry) && entry.payment?.status !== 'succeeded')
  if (open.length > 0)
    return { status: 'processing', reason: open.find(({ payment }) => payment?.reason)?.payment?.reason ?? null }
  const reason = failed.map(({ part, payment }) => part.failure ?? payment?.reason ?? null).find(Boolean) ?? null
  if (failed.length === 0) return { status: 'settled', reason: null }
  return { status: paid.length > 0 ? 'partially_settled' : 'failed', reason }
}

/** Lists the parts of a split in order, each with its payment. */
export function listPartPayments(db: Db, splitId: number): PaidPart[] {
  const rows = db
    .select({ part: royaltyParts, payment: walletPayments })
    .from(royaltyParts)
    .leftJoin(walletPayments, eq(walletPayments.id, royaltyParts.paymentId))
    .where(eq(royaltyParts.splitId, splitId))
    .orderBy(royaltyParts.position)
  return rows.all()
}

/** Returns null for a held or finished split. */
function getOpenSplit(tx: Tx, id: number): SplitRow | null {
  const split = tx.select().from(royaltySplits).where(eq(royaltySplits.id, id)).get()
  return !split || split.isHeld || split.checkAt === null ? null : split
}

/** The wallet may have been created after the split. */
function findWalletOf(tx: Tx, { walletId, userId, fromAddress }: SplitRow): WalletRow | null {
  if (walletId === null) return findSplitWallet(tx, userId, fromAddress)
  return tx.select().from(managedWallets).where(eq(managedWallets.id, walletId)).get() ?? null
}

const EVERY_MS = 2000

/** Starts a split once it is committed. */
export function startSplitJob(deps: SettleDeps): JobKind {
  return defineJob({
    kind: START_JOB,
    payload: z.object({ id: z.number() }),
    run: ({ id }) => settleSplit(deps, id),
  })
}

/** Advances open splits, also those that waited for a chain or a wallet. */
export function followSplitsJob(deps: SettleDeps): RepeatingJob {
  return { name: 'splits', everyMs: EVERY_MS, run: () => followSplits(deps) }
}

/** Advances all due splits. A failure is logged and does not stop the others. */
export async function followSplits(deps: SettleDeps): Promise<void> {
  for (const { id } of dueSplits(deps.db).all({ nowMs: deps.clock.now().getTime() })) {
    try {
      await settleSplit(deps, id)
    } catch (error) {
      deps.log.warn({ split: id, error: errorMessage(error) }, 'cannot settle a split')
    }
  }
}
