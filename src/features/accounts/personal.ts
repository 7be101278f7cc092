import { eq, type SQL } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import { bytesOf, inPages } from '../../db/pages.ts'
import { type PersonalList, personalRows } from '../../db/personal-data.ts'
import { auditLog } from './audit/tables.ts'
import { invites } from './invites/tables.ts'
import { apiKeys } from './keys/tables.ts'
import { noticeChannels, noticeSettings, notices } from './notifications/tables.ts'
import { identities, wallets } from './sign-in/tables.ts'
import { emailTokens, referrals, sessions } from './users/tables.ts'

/** The account's data that this domain stores, without hashes, secrets and other people's addresses. */
export const ACCOUNTS_PERSONAL_DATA: readonly PersonalList[] = [
  personalRows('sessions', sessions, {
    of: sessions.userId,
    show: ['createdAt', 'lastSeenAt', 'expiresAt', 'userAgent', 'address'],
  }),
  personalRows('keys', apiKeys, {
    of: apiKeys.userId,
    show: ['id', 'name', 'prefix', 'scopes', 'createdAt', 'lastUsedAt', 'expiresAt', 'disabledAt'],
  }),
  personalRows('identities', identities, {
    of: identities.userId,
    show: ['provider', 'issuer', 'subject', 'email', 'createdAt', 'lastUsedAt'],
  }),
  personalRows('wallets', wallets, { of: wallets.userId, hide: ['userId'] }),
  personalRows('mailedLinks', emailTokens, { of: emailTokens.userId, show: ['purpose', 'email', 'expiresAt'] }),
  { name: 'referrals', tables: [referrals], pages: listReferrals },
  personalRows('invites', invites, { of: invites.createdBy, show: ['createdAt', 'usedAt'] }),
  personalRows('noticeSettings', noticeSettings, { of: noticeSettings.userId, hide: ['userId'] }),
  personalRows('noticeChannels', noticeChannels, {
    of: noticeChannels.userId,
    show: ['kind', 'name', 'kinds', 'createdAt', 'lastSentAt'],
  }),
  personalRows('notices', notices, {
    of: notices.userId,
    show: ['kind', 'agentName', 'text', 'createdAt', 'endedAt'],
    sizeBytes: bytesOf(notices.text),
  }),
  { name: 'audit', tables: [auditLog], pages: listAuditLines },
]

/** The account's own referral and those with its code, without the other account's id. */
function* listReferrals(db: Db, userId: string): Generator<unknown[], void> {
  const read = (isOnPage: SQL | undefined) =>
    db
      .select()
      .from(referrals)
      .where(isOnPage)
      .all()
      .map(({ newUserId, credits, createdAt, creditedAt }) => ({
        wasReferred: newUserId === userId,
        credits,
        createdAt,
        creditedAt,
      }))
  yield read(eq(referrals.newUserId, userId))
  yield* inPages(db, { table: referrals, condition: eq(referrals.referrerId, userId), read })
}

/** Lines by the account, then lines about it by others: each condition has an index of its own. */
function* listAuditLines(db: Db, userId: string): Generator<unknown[], void> {
  const read = (isOnPage: SQL | undefined) => db.select().from(auditLog).where(isOnPage).all()
  for (const lines of inPages(db, { table: auditLog, condition: eq(auditLog.actor, userId), read })) {
    yield lines.map(({ action, detail, address, createdAt }) => ({ by: 'you', action, detail, address, createdAt }))
  }
  for (const lines of inPages(db, { table: auditLog, condition: eq(auditLog.target, userId), read })) {
    const byOthers = lines.filter(({ actor }) => actor !== userId)
    yield byOthers.map(({ action, detail, createdAt }) => ({ by: 'another', action, detail, address: null, createdAt }))
  }
}
