import { eq } from 'drizzle-orm'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import { shareOut } from '../../../core/money.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Once, Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { users } from '../../accounts/users/tables.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { findSplitWallet, requireUser } from './agent-wallets.ts'
import type { CreateSplitRequest } from './schemas.ts'
import { royaltyParts, royaltySplits, type SplitRow, splitRules } from './tables.ts'

export type CreateSplitDeps = { db: Db; clock: Clock; enqueue: Enqueue }

export const START_JOB = 'splits.start'

/** Who gets what; `minimumMicroUsd` is the least that is sent to them. */
type Recipient = { address: string; share: number; name?: string | null; minimumMicroUsd?: number }
type NewSplit = Omit<CreateSplitRequest, 'recipients' | 'userId'> & {
  userId: string
  recipients: readonly Recipient[]
  trigger?: string
  isHeld?: boolean
}

/**
 * Writes down a split with what each recipient gets, to the last millionth, and has it paid.
 * @throws AppError `not_found` for a user that is missing or not the principal, for an agent that is not the user's, and for
 * a wallet that is not the principal's; the operator may name a wallet that is made later, for which the split waits.
 */
export async function createSplit(
  deps: CreateSplitDeps,
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

/** In the closure of its cause. What is left over by rounding goes to the largest remainders. */
export function insertSplit(tx: Tx, deps: CreateSplitDeps, request: NewSplit): SplitRow {
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
      reason: isHeld ? 'It waits to be executed' : null,
      checkAt: isHeld ? null : now,
      createdAt: now,
    })
    .returning()
    .get()
  insertParts(tx, split, recipients)
  if (!isHeld) enqueueStart(tx, deps, split.id)
  return split
}

/** The row looks after itself by `checkAt`; the job makes it begin at once. */
function enqueueStart(tx: Tx, { enqueue }: Pick<CreateSplitDeps, 'enqueue'>, id: number): void {
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

/** The shares that a former owner of the account chose divide nothing any more. */
export function forgetSplitRules(tx: Tx, userId: string): void {
  tx.delete(splitRules).where(eq(splitRules.userId, userId)).run()
}

/**
 * Has a split paid that waited to be executed: the first call does, any other is refused.
 * @throws AppError `not_found` for a missing split and for somebody else's, `invalid` for one that was executed.
 */
export function executeSplit(
  deps: { db: Db; clock: Clock; enqueue: Enqueue },
  userId: string,
  id: number,
): Promise<SplitRow> {
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
