import { eq } from 'drizzle-orm'
import { wholeList } from '../../../db/personal-data.ts'
import { identities, wallets } from './tables.ts'

/** Accounts elsewhere that open this one. */
export const personalIdentities = wholeList('identities', [identities], (db, userId) =>
  db
    .select({
      provider: identities.provider,
      issuer: identities.issuer,
      subject: identities.subject,
      email: identities.email,
      createdAt: identities.createdAt,
      lastUsedAt: identities.lastUsedAt,
    })
    .from(identities)
    .where(eq(identities.userId, userId))
    .all(),
)

/** Wallets that open the account. */
export const personalWallets = wholeList('wallets', [wallets], (db, userId) =>
  db
    .select({ chainId: wallets.chainId, address: wallets.address, createdAt: wallets.createdAt })
    .from(wallets)
    .where(eq(wallets.userId, userId))
    .all(),
)
