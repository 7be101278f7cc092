import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { writeJsonArray } from '../../../http/streams/send-pieces.ts'
import { type AccountSettings, getSettings } from '../../accounts/settings/settings.ts'
import { PERSONAL_LISTS } from './lists.ts'

/**
 * Everything that is kept of an account, as pieces of one JSON document that is read while it is sent: hashes, sealed
 * tokens and other people's addresses are left out. Times are ISO 8601, costs in millionths of a dollar.
 * @throws AppError `not_found` before the first piece.
 */
export function exportAccount(deps: { db: Db; clock: Clock }, userId: string): Generator<string, void> {
  const account = toAccount(getSettings(deps, userId))
  return writeDocument(deps.db, userId, account, deps.clock.now())
}

/** One piece a page, so that what is in memory does not grow with the account. */
function* writeDocument(db: Db, userId: string, account: unknown, now: Date): Generator<string, void> {
  yield `{"exportedAt":${JSON.stringify(now)},"account":${JSON.stringify(account)}`
  for (const { name, pages } of PERSONAL_LISTS) {
    yield `,${JSON.stringify(name)}:`
    yield* writeJsonArray(pages(db, userId, now))
  }
  yield '}'
}

/** The account itself: no hash, no secret. */
function toAccount({ user, pendingEmail }: AccountSettings) {
  return {
    id: user.id,
    email: user.email,
    emailVerifiedAt: user.emailVerifiedAt,
    pendingEmail,
    name: user.name,
    plan: user.plan,
    subscriptionStatus: user.subscriptionStatus,
    subscriptionId: user.subscriptionId,
    credits: user.credits,
    referralCode: user.referralCode,
    hasPassword: user.passwordHash !== null,
    twoFactorEnabledAt: user.twoFactorEnabledAt,
    externalSignInDisabledAt: user.externalSignInDisabledAt,
    notifications: user.notifications,
    createdAt: user.createdAt,
    updatedAt: user.updatedAt,
  }
}
