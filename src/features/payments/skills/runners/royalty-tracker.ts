import { and, eq, sql } from 'drizzle-orm'
import { z } from 'zod'
import { formatMicroUsd } from '../../../../core/money.ts'
import type { Db } from '../../../../db/open.ts'
import { getSplitDetail, listSplits } from '../../splits/list-splits.ts'
import { royaltyParts, royaltySplits } from '../../splits/tables.ts'
import { walletPayments } from '../../wallets/tables.ts'
import { parseCall, type RunnerDeps, type SkillCall } from './calls.ts'

const LATEST = 20
const MAX_RECIPIENTS = 1000

const Call = z.discriminatedUnion(
  'action',
  [z.object({ action: z.literal('list') }), z.object({ action: z.literal('total') })],
  'Invalid action',
)

/** Runs an action of the royalty tracker: a user's splits and their payments. @throws AppError `invalid`. */
export function useRoyaltyTracker({ db }: Pick<RunnerDeps, 'db'>, { user, body }: SkillCall): object {
  const { action } = parseCall(Call, body)
  const principal = { kind: 'user', user } as const
  if (action === 'total') return { success: true, currency: 'USDC', ...sumUp(db, user.id) }
  const latest = listSplits(db, principal, {}).splits.slice(0, LATEST)
  return { success: true, royalties: latest.map(({ id }) => getSplitDetail(db, principal, id)) }
}

/** Skipped and failed parts count neither as paid nor as open. */
function sumUp(db: Db, userId: string) {
  const isPaid = sql`${walletPayments.status} = 'succeeded'`
  const isOver = sql`coalesce(${walletPayments.status} IN ('succeeded', 'failed', 'denied'), ${royaltyParts.failure} IS NOT NULL)`
  const sumOf = (condition: ReturnType<typeof sql>) =>
    sql<number>`coalesce(sum(CASE WHEN ${condition} THEN ${royaltyParts.amountMicroUsd} ELSE 0 END), 0)`
  const isDue = and(eq(royaltySplits.ownerId, userId), eq(royaltyParts.isSkipped, false))
  const recipients = db
    .select({ address: royaltyParts.address, paid: sumOf(isPaid), open: sumOf(sql`NOT ${isOver}`) })
    .from(royaltyParts)
    .innerJoin(royaltySplits, eq(royaltySplits.id, royaltyParts.splitId))
    .leftJoin(walletPayments, eq(walletPayments.id, royaltyParts.paymentId))
    .where(isDue)
    .groupBy(royaltyParts.address)
    .orderBy(royaltyParts.address)
    .limit(MAX_RECIPIENTS)
    .all()
  return {
    totalPaid: formatMicroUsd(
      recipients.reduce((sum, { paid }) => sum + paid, 0),
      2,
    ),
    totalOpen: formatMicroUsd(
      recipients.reduce((sum, { open }) => sum + open, 0),
      2,
    ),
    recipients: recipients.map(({ address, paid, open }) => ({
      address,
      paid: formatMicroUsd(paid, 2),
      open: formatMicroUsd(open, 2),
    })),
  }
}
