import { desc, eq, or } from 'drizzle-orm'
import { z } from 'zod'
import { AppError } from '../../../../core/errors.ts'
import { formatMicroUsd, shareOut, toUsd } from '../../../../core/money.ts'
import type { Db } from '../../../../db/open.ts'
import { wallets as signInWallets } from '../../../accounts/sign-in/tables.ts'
import type { Base } from '../../../base.ts'
import {
  type BookingRow,
  feeOf,
  findEscrow,
  getBooking,
  holdFee,
  listRules,
  type Payout,
  refundFee,
  releaseFee,
  setRules,
} from '../../settlement/escrow.ts'
import type { SplitRule } from '../../settlement/tables.ts'
import { chainAddress, percentage, WHOLE } from '../../splits/schemas.ts'
import { amount } from '../../underground/schemas.ts'
import { bookings } from '../../underground/tables.ts'
import { managedWallets } from '../../wallets/tables.ts'
import { line, parseCall, type SkillCall } from './calls.ts'

const LATEST = 100
const ROLES = ['artist', 'manager', 'agent', 'venue'] as const
const bookingId = line('bookingId', 100)
const badRules = 'splitRules must be a list of 1 to 20 {recipientAddress, percentage, role, name}'

const Rules = z
  .array(
    z.object({
      recipientAddress: chainAddress('splitRules.recipientAddress'),
      percentage: percentage('splitRules.percentage'),
      role: z.enum(ROLES, `splitRules.role must be one of ${ROLES.join(', ')}`).default('artist'),
      name: line('splitRules.name', 100),
    }),
    badRules,
  )
  .min(1, badRules)
  .max(20, badRules)
  .refine(
    (rules) => rules.reduce((sum, rule) => sum + rule.percentage, 0) === WHOLE,
    'The percentages must add up to exactly 100',
  )

const Call = z.discriminatedUnion(
  'action',
  [
    z.object({ action: z.literal('list') }),
    z.object({ action: z.literal('get'), bookingId }),
    z.object({ action: z.literal('create_escrow'), bookingId }),
    z.object({ action: z.literal('set_split_rules'), bookingId, splitRules: Rules }),
    z.object({ action: z.literal('release_funds'), bookingId }),
    z.object({ action: z.literal('refund'), bookingId }),
    z.object({
      action: z.literal('simulate_settlement'),
      booking: z
        .object({
          guarantee: amount('booking.guarantee').default(500_000_000),
          backend: amount('booking.backend').default(200_000_000),
          deposit: amount('booking.deposit').default(100_000_000),
        })
        .prefault({}),
    }),
  ],
  'Invalid action',
)

/** Facts of `GET /api/skills/booking-settlement`. */
export const SETTLEMENT_FACTS = {
  triggers: ['gig_completion', 'manual_release'],
  features: [
    'Escrow on the ledger of this platform',
    'Released once, after the date of the gig',
    'Refund by the payee, or by the payer before confirmation',
    'Exact division among accounts',
  ],
  pricing: { transactionFee: '0%', escrowFee: '0%' },
  integrations: ['BOOKING_OFFER, BOOKING_ACCEPT and BOOKING_DECLINE on the bus between agents'],
  security: { usesCDP: false, network: 'ledger', custody: 'platform' },
} as const

/** Runs an action of the booking settlement skill. @throws AppError as the functions of `settlement`. */
export async function useBookingSettlement(deps: Base, { user, body }: SkillCall): Promise<object> {
  const call = parseCall(Call, body)
  switch (call.action) {
    case 'list':
      return { success: true, bookings: listBookings(deps.db, user.id).map((row) => toBooking(deps, row)) }
    case 'get':
      return { success: true, booking: toBooking(deps, getBooking(deps.db, user.id, call.bookingId)) }
    case 'create_escrow':
      return hold(deps, user.id, call.bookingId)
    case 'set_split_rules': {
      const rules = call.splitRules.map((rule) => toRule(deps.db, rule))
      return { success: true, booking: toBooking(deps, await setRules(deps, user.id, call.bookingId, rules)) }
    }
    case 'release_funds':
      return release(deps, user.id, call.bookingId)
    case 'refund': {
      const escrow = await refundFee(deps, user.id, call.bookingId)
      const refunded = toUsd(escrow.amountMicroUsd)
      return {
        success: true,
        bookingId: call.bookingId,
        refunded,
        currency: 'USD',
        refundedAt: escrow.endedAt?.toISOString(),
      }
    }
    case 'simulate_settlement':
      return estimateSettlement(call.booking)
  }
}

async function hold(deps: Base, userId: string, id: string) {
  const escrow = await holdFee(deps, userId, id)
  const depositAmount = toUsd(escrow.amountMicroUsd)
  const message = `${formatMicroUsd(escrow.amountMicroUsd, 2)} USD are held on the ledger until they are released or refunded`
  return { success: true, bookingId: id, escrowAddress: `ledger:escrow:${id}`, depositAmount, currency: 'USD', message }
}

async function release(deps: Base, userId: string, id: string) {
  const payouts = await releaseFee(deps, userId, id)
  const total = payouts.reduce((sum, { amountMicroUsd }) => sum + amountMicroUsd, 0)
  return {
    success: true,
    bookingId: id,
    totalPayout: toUsd(total),
    currency: 'USD',
    network: 'ledger',
    releasedAt: deps.clock.now().toISOString(),
    splits: payouts.map(toPayout),
  }
}

/** The ledger pays, so there is no transaction hash. */
function toPayout({ rule, amountMicroUsd }: Payout) {
  return {
    recipient: rule.name,
    role: rule.role,
    address: rule.address || null,
    amount: toUsd(amountMicroUsd),
    status: 'released',
    txHash: null,
  }
}

type Fee = { guarantee: number; backend: number; deposit: number }

/** Customary shares. */
const USUAL = [
  { role: 'artist', percentage: 65 },
  { role: 'agent', percentage: 20 },
  { role: 'manager', percentage: 15 },
] as const

/** Calculates a payout by customary shares, without a booking or a payment. */
function estimateSettlement({ guarantee, backend, deposit }: Fee) {
  const total = guarantee + backend
  if (deposit > total) throw new AppError('invalid', 'booking.deposit must not be more than the whole')
  const amounts = shareOut(
    total,
    USUAL.map(({ percentage }) => percentage),
  )
  return {
    success: true,
    input: { guarantee: toUsd(guarantee), backend: toUsd(backend), deposit: toUsd(deposit) },
    totalPayout: toUsd(total),
    currency: 'USD',
    splits: USUAL.map((share, index) => ({ ...share, amount: toUsd(amounts[index] ?? 0) })),
    timeline: { deposit: toUsd(deposit), remainder: toUsd(total - deposit) },
  }
}

function listBookings(db: Db, userId: string): BookingRow[] {
  return db
    .select()
    .from(bookings)
    .where(or(eq(bookings.payerId, userId), eq(bookings.payeeId, userId)))
    .orderBy(desc(bookings.createdAt), desc(bookings.id))
    .limit(LATEST)
    .all()
}

/** The ledger can pay accounts of this platform only. @throws AppError `invalid` for other addresses. */
function toRule(db: Db, rule: z.infer<typeof Rules>[number]): SplitRule {
  const address = rule.recipientAddress.toLowerCase()
  const managed = db
    .select({ userId: managedWallets.userId })
    .from(managedWallets)
    .where(eq(managedWallets.address, address))
    .get()
  const linked = db
    .select({ userId: signInWallets.userId })
    .from(signInWallets)
    .where(eq(signInWallets.address, address))
    .get()
  const userId = managed?.userId ?? linked?.userId
  if (!userId) throw new AppError('invalid', `${rule.recipientAddress} is not a wallet of an account here`)
  return { userId, address, shareMillionths: rule.percentage, role: rule.role, name: rule.name }
}

/** Existing clients expect amounts as numbers of US dollars. */
function toBooking({ db, clock }: Base, row: BookingRow) {
  const escrow = findEscrow(db, row.id)
  const rules = row.payeeId === null ? [] : listRules(db, row)
  const whole = rules.reduce((sum, { shareMillionths }) => sum + shareMillionths, 0)
  return {
    id: row.id,
    talentName: row.talentName,
    venue: row.venue,
    date: row.gigAt?.toISOString().slice(0, 10) ?? null,
    guarantee: toUsd(row.guaranteeMicroUsd),
    backend: toUsd(row.backendMicroUsd),
    deposit: toUsd(row.depositMicroUsd),
    total: toUsd(feeOf(row)),
    status: statusOf(row, escrow?.status ?? null, clock.now()),
    escrow: escrow?.status ?? null,
    splitRules: rules.map(({ address, shareMillionths, role, name }) => ({
      recipientAddress: address || null,
      percentage: whole === WHOLE ? toUsd(shareMillionths) : 100,
      role,
      name,
    })),
  }
}

function statusOf(row: BookingRow, escrow: string | null, now: Date): string {
  if (escrow === 'released') return 'settled'
  if (escrow === 'refunded') return 'refunded'
  if (row.status === 'declined') return 'declined'
  if (row.status === 'offered') return 'pending'
  return row.gigAt !== null && row.gigAt <= now ? 'completed' : 'confirmed'
}
