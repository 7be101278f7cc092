import { desc, eq, type SQL } from 'drizzle-orm'
import { inPages } from '../../../db/pages/in-pages.ts'
import { type PersonalList, wholeList } from '../../../db/personal-data.ts'
import { managedWallets, walletPayments } from './tables.ts'

const walletColumns = {
  address: managedWallets.address,
  agentId: managedWallets.agentId,
  perPaymentMicroUsd: managedWallets.perPaymentMicroUsd,
  perDayMicroUsd: managedWallets.perDayMicroUsd,
  perMonthMicroUsd: managedWallets.perMonthMicroUsd,
  approvalAboveMicroUsd: managedWallets.approvalAboveMicroUsd,
  recipients: managedWallets.recipients,
  frozenAt: managedWallets.frozenAt,
  createdAt: managedWallets.createdAt,
}

/** Wallets that the platform keeps, without their keys. */
export const personalManagedWallets = wholeList('managedWallets', [managedWallets], (db, userId) =>
  db
    .select(walletColumns)
    .from(managedWallets)
    .where(eq(managedWallets.userId, userId))
    .orderBy(desc(managedWallets.createdAt))
    .all(),
)

const paymentColumns = {
  id: walletPayments.id,
  agentId: walletPayments.agentId,
  purpose: walletPayments.purpose,
  recipient: walletPayments.recipient,
  amountMicroUsd: walletPayments.amountMicroUsd,
  currency: walletPayments.currency,
  status: walletPayments.status,
  reason: walletPayments.reason,
  transactionHash: walletPayments.transactionHash,
  createdAt: walletPayments.createdAt,
  settledAt: walletPayments.settledAt,
}

/** Payments, without what was signed. */
export const personalPayments: PersonalList = {
  name: 'payments',
  tables: [walletPayments],
  pages: (db, userId) =>
    inPages(db, {
      table: walletPayments,
      condition: eq(walletPayments.userId, userId),
      read: (isOnPage: SQL | undefined) => db.select(paymentColumns).from(walletPayments).where(isOnPage).all(),
    }),
}
