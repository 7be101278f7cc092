import { and, eq, inArray, or, type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../db/open.ts'
import { bytesOf, inPages } from '../../db/pages.ts'
import { type PersonalList, personalRows, wholeList } from '../../db/personal-data.ts'
import { cardCustomers, cardSubscriptions } from './cards/tables.ts'
import { linesInPages } from './ledger/list.ts'
import { ledgerAccounts, ledgerEntries, ledgerLines } from './ledger/tables.ts'
import { gatewayPayments } from './paid-gateway/tables.ts'
import { toReceipt } from './receipts/receipts.ts'
import { receipts } from './receipts/tables.ts'
import { escrows, tickets } from './settlement/tables.ts'
import { calendarEntries, installedSkills, ownSkills } from './skills/tables.ts'
import { listParts, toSplit } from './splits/list-splits.ts'
import { royaltySplits, splitRules } from './splits/tables.ts'
import { bookings, busMessages, events } from './underground/tables.ts'
import { managedWallets, walletPayments } from './wallets/tables.ts'

/** The user's data that this domain stores, without keys, signatures and other people's ids. */
export const PAYMENTS_PERSONAL_DATA: readonly PersonalList[] = [
  wholeList('cardSubscriptions', [cardCustomers, cardSubscriptions], listSubscriptions),
  personalRows('gatewayPayments', gatewayPayments, {
    of: gatewayPayments.userId,
    hide: ['userId', 'authorization', 'rawTransaction'],
  }),
  { name: 'ledger', tables: [ledgerAccounts, ledgerEntries, ledgerLines], pages: linesInPages },
  personalRows('managedWallets', managedWallets, {
    of: managedWallets.userId,
    hide: ['id', 'kind', 'userId', 'sealedKey'],
  }),
  personalRows('payments', walletPayments, {
    of: walletPayments.userId,
    show: [
      ...(['id', 'agentId', 'purpose', 'recipient', 'amountMicroUsd', 'currency', 'status', 'reason'] as const),
      ...(['transactionHash', 'createdAt', 'settledAt'] as const),
    ],
  }),
  personalRows('ownSkills', ownSkills, {
    of: ownSkills.userId,
    hide: ['userId'],
    sizeBytes: bytesOf(ownSkills.content),
  }),
  personalRows('installedSkills', installedSkills, { of: installedSkills.userId, hide: ['userId'] }),
  personalRows('calendar', calendarEntries, { of: calendarEntries.userId, hide: ['userId'] }),
  personalRows('events', events, {
    of: events.ownerId,
    hide: ['ownerId', 'localAgentId'],
    sizeBytes: bytesOf(events.description),
  }),
  personalRows('splitRules', splitRules, { of: splitRules.userId, hide: ['userId'] }),
  personalRows('escrows', escrows, { of: escrows.payerId, hide: ['payerId'] }),
  personalRows('tickets', tickets, { of: tickets.buyerId, hide: ['buyerId', 'organiserId'] }),
  personalRows('agentMessages', busMessages, {
    of: busMessages.ownerId,
    hide: ['ownerId', 'contentHash'],
    sizeBytes: bytesOf(busMessages.body),
  }),
  { name: 'receipts', tables: [receipts], pages: listOwnReceipts },
  { name: 'splits', tables: [royaltySplits], pages: listOwnSplits },
  { name: 'bookings', tables: [bookings], pages: listOwnBookings },
]

function listSubscriptions(db: Db, userId: string): unknown[] {
  const customer = db.select().from(cardCustomers).where(eq(cardCustomers.userId, userId)).get()
  const rows = db.select().from(cardSubscriptions).where(eq(cardSubscriptions.userId, userId)).all()
  return rows.map(({ userId: _, ...row }) => ({ ...row, customerId: customer?.customerId ?? null }))
}

function listOwnReceipts(db: Db, userId: string) {
  const condition = eq(receipts.userId, userId)
  const read = (isOnPage: SQL | undefined) => db.select().from(receipts).where(isOnPage).all().map(toReceipt)
  return inPages(db, { table: receipts, condition, read })
}

function listOwnSplits(db: Db, userId: string) {
  return inPages(db, {
    table: royaltySplits,
    condition: eq(royaltySplits.ownerId, userId),
    read: (isOnPage) => {
      const rows = db.select().from(royaltySplits).where(isOnPage).all()
      return rows.map((split) => ({ ...toSplit(split), recipients: listParts(db, split.id) }))
    },
  })
}

/** Bookings with the user as payer or payee. */
function listOwnBookings(db: Db, userId: string) {
  return inPages(db, {
    table: bookings,
    condition: or(eq(bookings.payerId, userId), eq(bookings.payeeId, userId)),
    read: (isOnPage) => {
      const rows = db.select().from(bookings).where(isOnPage).all()
      return rows.map(({ payerId, payeeId: _, ...booking }) => ({ ...booking, pays: payerId === userId }))
    },
  })
}

/** Anonymizes a deleted user's ledger accounts; the entries stay. */
export function forgetLedgerOwner(tx: Tx, userId: string): void {
  tx.update(ledgerAccounts)
    .set({ ownerId: sql`'deleted:' || ${ledgerAccounts.id}` })
    .where(eq(ledgerAccounts.ownerId, userId))
    .run()
}

/** Anonymizes at most `limit` gateway payments of a deleted user. @returns the number of changed rows. */
export function forgetGatewayPayer(tx: Tx, userId: string, limit: number): number {
  const isOwn = eq(gatewayPayments.userId, userId)
  const some = tx.select({ id: gatewayPayments.id }).from(gatewayPayments).where(isOwn).limit(limit)
  const isNext = and(isOwn, inArray(gatewayPayments.id, some))
  return tx.update(gatewayPayments).set({ userId: 'deleted' }).where(isNext).run().changes
}

/** Anonymizes at most `limit` receipts of a deleted user. @returns the number of changed rows. */
export function forgetReceiptOwner(tx: Tx, userId: string, limit: number): number {
  const isOwn = eq(receipts.userId, userId)
  const some = tx.select({ id: receipts.id }).from(receipts).where(isOwn).limit(limit)
  const isNext = and(isOwn, inArray(receipts.id, some))
  return tx.update(receipts).set({ userId: 'deleted', payer: null }).where(isNext).run().changes
}
