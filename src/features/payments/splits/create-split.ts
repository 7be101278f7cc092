import { and, eq } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { shareOut } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once, Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { users } from '../../accounts/users/tables.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { Base } from '../../base.ts'
import { readTokenBalance, type TokenChains } from '../wallets/balance.ts'
import { createWallet } from '../wallets/create.ts'
import { managedWallets, type WalletRow } from '../wallets/tables.ts'
import type { CreateAgentWalletRequest, CreateSplitRequest } from './schemas.ts'
import { operatorWallets, royaltyParts, royaltySplits, type SplitRow, splitRules } from './tables.ts'

export const START_JOB = 'splits.start'

/** A recipient; smaller amounts than `minimumMicroUsd` are not sent. */
type Recipient = { address: string; share: number; name?: string | null; minimumMicroUsd?: number }
type NewSplit = Omit<CreateSplitRequest, 'recipients' | 'userId'> & {
  userId: string
  recipients: readonly Recipient[]
  trigger?: string
  isHeld?: boolean
}

/**
 * Creates a split with the exact amount of each recipient and queues its payment.
 * @throws AppError `not_found` for a missing user or one other than the principal, for an agent that is not the user's,
 * and for a wallet that is not the principal's. The operator may name a wallet that is created later; the split waits
 * for it.
 */
export async function createSplit(
  deps: Base,
  principal: Principal,
  request: CreateSplitRequest,
  note: Once['note'],
): Promise<SplitRow> {
  const userId = toUserId(principal, request.userId)
  return write(deps.db, (tx) => {
    requireUser(tx, principal, userId)
    if (getAgent(tx, principal, request.agentId).ownerId !== userId) throw new AppError('not_found', 'Agent not found')
    const split = insertSplit(tx, deps, { ...request, userId })
    if (principal.kind === 'user' && split.walletId === null) throw new AppError('not_found', 'Wallet not found')
    note(tx, String(split.id))
    return split
  })
}

/** Inserts a split in the transaction of its cause. The largest remainders get what rounding leaves. */
export function insertSplit(tx: Tx, deps: Base, request: NewSplit): SplitRow {
  const { recipients, totalAmount, agentId, userId, fromAddress, name, trigger = 'manual', isHeld = false } = request
  const now = deps.clock.now()
  const owner = tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).get()
  const split = tx
    .insert(royaltySplits)
    .values({
      ownerId: owner?.id ?? null,
      userId,
      agentId,
      fromAddress: fromAddress.toLowerCase(),
      walletId: findSplitWallet(tx, userId, fromAddress)?.id ?? null,
      name,
      trigger,
      totalMicroUsd: totalAmount,
      status: 'queued',
      isHeld,
      reason: isHeld ? 'Waits for execution' : null,
      checkAt: isHeld ? null : now,
      createdAt: now,
    })
    .returning()
    .get()
  insertParts(tx, split, recipients)
  if (!isHeld) enqueueStart(tx, deps, split.id)
  return split
}

/** Starts the split at once; without the job, `checkAt` would start it later. */
function enqueueStart(tx: Tx, { enqueue }: { enqueue: Enqueue }, id: number): void {
  enqueue(tx, START_JOB, { id }, { key: `split:${id}` })
}

function insertParts(tx: Tx, split: SplitRow, recipients: readonly Recipient[]): void {
  const amounts = shareOut(
    split.totalMicroUsd,
    recipients.map(({ share }) => share),
  )
  for (const [position, { address, share, name = null, minimumMicroUsd = 0 }] of recipients.entries()) {
    const amountMicroUsd = amounts[position] ?? 0
    tx.insert(royaltyParts)
      .values({
        splitId: split.id,
        position,
        address: address.toLowerCase(),
        name,
        shareMillionths: share,
        amountMicroUsd,
        isSkipped: amountMicroUsd === 0 || amountMicroUsd < minimumMicroUsd,
      })
      .run()
  }
}

function toUserId(principal: Principal, userId: string | undefined): string {
  if (principal.kind === 'user') {
    if (userId === undefined || userId === principal.user.id) return principal.user.id
    throw new AppError('not_found', 'User not found')
  }
  if (userId === undefined) throw new AppError('invalid', 'userId is required')
  return userId
}

/** Deletes the split rules of an account with a new owner. */
export function forgetSplitRules(tx: Tx, userId: string): void {
  tx.delete(splitRules).where(eq(splitRules.userId, userId)).run()
}

/** Executes a held split, once. @throws AppError `not_found`, `invalid` when it was executed before. */
export function executeSplit(deps: Base, userId: string, id: number): Promise<SplitRow> {
  return write(deps.db, (tx) => {
    const isThis = eq(royaltySplits.id, id)
    const split = tx.select().from(royaltySplits).where(isThis).get()
    if (!split || split.ownerId !== userId) throw new AppError('not_found', 'Split not found')
    if (!split.isHeld) throw new AppError('invalid', 'Split already processed')
    enqueueStart(tx, deps, id)
    const change = { isHeld: false, reason: null, checkAt: deps.clock.now() }
    return tx.update(royaltySplits).set(change).where(isThis).returning().get()
  })
}

/**
 * Returns the wallet of a user's agent, and creates it when there is none.
 * @throws AppError `not_found` for a missing user, a user other than the principal, and an agent that is not the
 * user's.
 */
export async function createAgentWallet(
  deps: Base,
  principal: Principal,
  { userId, agentId }: CreateAgentWalletRequest,
): Promise<WalletRow> {
  requireUser(deps.db, principal, userId)
  return (await createWallet(deps, { userId, agentId })).wallet
}

/** @throws AppError `not_found` for a missing user, and for any user but the principal unless that is the operator. */
function requireUser(db: Db, principal: Principal, userId: string): void {
  const isAllowed = principal.kind === 'operator' || principal.user.id === userId
  const user = isAllowed && db.select({ id: users.id }).from(users).where(eq(users.id, userId)).get()
  if (!user) throw new AppError('not_found', 'User not found')
}

/**
 * Returns the USDC balance of a user's wallet in millionths. @throws AppError `not_found`, `unavailable` without a
 * chain.
 */
export async function readAgentBalance(
  deps: { db: Db; tokenChains: TokenChains },
  principal: Principal,
  { userId, address }: { userId: string; address: string },
): Promise<bigint> {
  const isTheirs = principal.kind === 'operator' || principal.user.id === userId
  const wallet = isTheirs ? findSplitWallet(deps.db, userId, address) : null
  if (!wallet) throw new AppError('not_found', 'Wallet not found')
  return readTokenBalance(deps.tokenChains, 'USDC', wallet.address)
}

/** Finds a wallet by address in any case: the user's, or the operator's under the user's name. */
export function findSplitWallet(db: Db, userId: string, address: string): WalletRow | null {
  const wallet = db.select().from(managedWallets).where(eq(managedWallets.address, address.toLowerCase())).get()
  if (!wallet) return null
  if (wallet.userId !== null) return wallet.userId === userId ? wallet : null
  const isNamed = and(eq(operatorWallets.walletId, wallet.id), eq(operatorWallets.userId, userId))
  return db.select().from(operatorWallets).where(isNamed).get() ? wallet : null
}
