import { and, count, eq, gt, gte, like, lt, or, type SQL, sql } from 'drizzle-orm'
import { formatMicroUsd } from '../../../core/money.ts'
import type { Db } from '../../../db/open.ts'
import type { Base } from '../../base.ts'
import { ledgerAccounts, ledgerEntries, ledgerLines } from '../../payments/ledger/tables.ts'
import { escrows } from '../../payments/settlement/tables.ts'
import { installedSkills } from '../../payments/skills/tables.ts'
import { bookings } from '../../payments/underground/tables.ts'
import type { MetricsSummary } from './schemas.ts'

const DETAIL =
  'Null fields are listed in degraded: audiences and listeners are not recorded, and growth from nothing has no percentage.'

/** Computes the summary from the ledger, the bookings and the installed skills of a user. */
export function getSummary({ db, clock }: Base, userId: string): MetricsSummary {
  const now = clock.now()
  const figures = {
    revenue: readRevenue(db, userId, now),
    bookings: readBookings(db, userId, now),
    fans: { total: null, active: null, growth: null, segmentation: { superfans: null, casual: null, new: null } },
    streams: { monthlyListeners: null, monthlyStreams: null, growth: null },
    skills: readSkills(db, userId, now),
  }
  return { ...figures, degraded: listNulls(figures), detail: DETAIL }
}

/** Sums ticket sales minus refunds, and booking fees, that reached the user's balance. */
function readRevenue(db: Db, userId: string, now: Date): MetricsSummary['revenue'] {
  const { amount } = ledgerLines
  const { createdAt, cause } = ledgerEntries
  const sumWhere = (condition: SQL | undefined) =>
    sql<number>`coalesce(sum(${amount}) filter (where ${condition ?? sql`true`}), 0)`
  const isIncome = or(
    and(or(like(cause, 'ticket:%:sale'), like(cause, 'escrow:%:release')), gt(amount, 0)),
    and(like(cause, 'ticket:%:refund'), lt(amount, 0)),
  )
  const [thisMonth, lastMonth] = [monthOf(now, 0), monthOf(now, -1)]
  const isCredits = and(
    eq(ledgerAccounts.kind, 'credits'),
    eq(ledgerAccounts.ownerId, userId),
    eq(ledgerAccounts.currency, 'USD'),
  )
  const sums = db
    .select({
      total: sumWhere(undefined),
      month: sumWhere(gte(createdAt, thisMonth)),
      before: sumWhere(and(gte(createdAt, lastMonth), lt(createdAt, thisMonth))),
    })
    .from(ledgerAccounts)
    .innerJoin(ledgerLines, eq(ledgerLines.accountId, ledgerAccounts.id))
    .innerJoin(ledgerEntries, eq(ledgerEntries.id, ledgerLines.entryId))
    .where(and(isCredits, isIncome))
    .get()
  const { total = 0, month = 0, before = 0 } = sums ?? {}
  return { month: toDollars(month), total: toDollars(total), change: toGrowth(month, before) }
}

/** Counts bookings of the user as payer or payee; `conversion` is the percentage of offers that were confirmed. */
function readBookings(db: Db, userId: string, now: Date): MetricsSummary['bookings'] {
  const isCompleted = sql`${bookings.status} = 'confirmed' AND (${bookings.gigAt} <= ${now.getTime()} OR ${escrows.status} = 'released')`
  const countWhere = (condition: SQL) => sql<number>`count(*) filter (where ${condition})`
  const counts = db
    .select({
      all: count(),
      completed: countWhere(isCompleted),
      pending: countWhere(sql`${bookings.status} = 'offered'`),
      confirmed: countWhere(sql`${bookings.status} = 'confirmed'`),
    })
    .from(bookings)
    .leftJoin(escrows, eq(escrows.bookingId, bookings.id))
    .where(or(eq(bookings.payerId, userId), eq(bookings.payeeId, userId)))
    .get()
  const { all = 0, completed = 0, pending = 0, confirmed = 0 } = counts ?? {}
  return { completed, pending, conversion: `${all === 0 ? 0 : Math.round((confirmed * 100) / all)}%` }
}

/** Counts the installed skills of the user's agents; `growth` is this month's. */
function readSkills(db: Db, userId: string, now: Date): MetricsSummary['skills'] {
  const counts = db
    .select({
      total: count(),
      active: sql<number>`coalesce(sum(${installedSkills.enabled}), 0)`,
      before: sql<number>`count(*) filter (where ${lt(installedSkills.createdAt, monthOf(now, 0))})`,
    })
    .from(installedSkills)
    .where(eq(installedSkills.userId, userId))
    .get()
  const { total = 0, active = 0, before = 0 } = counts ?? {}
  return { active, total, growth: toGrowth(total, before) }
}

function toDollars(microUsd: number): string {
  return `${microUsd < 0 ? '-' : ''}$${formatMicroUsd(Math.abs(microUsd), 2)}`
}

/** Returns null when the earlier value is 0. */
function toGrowth(now: number, before: number): string | null {
  if (before === 0) return now === 0 ? '+0%' : null
  const percent = Math.round(((now - before) * 100) / Math.abs(before))
  return `${percent < 0 ? '' : '+'}${percent}%`
}

/** Returns the first day (UTC) of the month `offset` months from now. */
function monthOf(now: Date, offset: number): Date {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset, 1))
}

/** Returns the dotted paths of the null fields of `value`, without descending into lists. */
export function listNulls(value: object, path = ''): string[] {
  return Object.entries(value).flatMap(([name, field]): string[] => {
    const here = path === '' ? name : `${path}.${name}`
    if (field === null) return [here]
    return typeof field === 'object' && !Array.isArray(field) ? listNulls(field, here) : []
  })
}
