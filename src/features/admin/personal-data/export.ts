import type { Db } from '../../../db/open.ts'
import type { PersonalList } from '../../../db/personal-data.ts'
import { writeJsonArray } from '../../../http/streams/send-pieces.ts'
import { ACCOUNTS_PERSONAL_DATA } from '../../accounts/personal.ts'
import { type AccountSettings, getSettings } from '../../accounts/settings/settings.ts'
import { personalEgressBlocks } from '../../agents/egress/blocks.ts'
import { personalEgress } from '../../agents/egress/policy.ts'
import { personalInstallations } from '../../agents/installations/service.ts'
import { personalAgents } from '../../agents/registry/agents.ts'
import { personalPauses } from '../../ai/breakers/breakers.ts'
import { personalProviderKeys } from '../../ai/own-keys/own-keys.ts'
import { personalResponses } from '../../ai/responses/store.ts'
import { personalEndUsers, personalRequestBodies, personalToolEvents, personalUsage } from '../../ai/usage/calls.ts'
import type { Base } from '../../base.ts'
import { CONVERSATIONS_PERSONAL_DATA } from '../../conversations/personal.ts'
import { PAYMENTS_PERSONAL_DATA } from '../../payments/personal.ts'
import { personalRadioStreams } from '../../web-tools/radio/streams.ts'
import { personalVideos } from '../../web-tools/video/videos.ts'

/**
 * Streams all data of an account as chunks of one JSON document, without hashes, sealed tokens and other people's
 * addresses. Times are ISO 8601, costs in millionths of a dollar.
 * @throws AppError `not_found` before the first chunk.
 */
export function exportAccount(deps: Base, userId: string): Generator<string, void> {
  const account = toAccount(getSettings(deps, userId))
  return writeDocument(deps.db, userId, account, deps.clock.now())
}

/** Yields one chunk per page, so memory does not grow with the account. */
function* writeDocument(db: Db, userId: string, account: unknown, now: Date): Generator<string, void> {
  yield `{"exportedAt":${JSON.stringify(now)},"account":${JSON.stringify(account)}`
  for (const { name, pages } of PERSONAL_LISTS) {
    yield `,${JSON.stringify(name)}:`
    yield* writeJsonArray(pages(db, userId, now))
  }
  yield '}'
}

/** Returns the account's fields without hashes and secrets. */
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

/** Personal data of each feature, in the order of the exported document. */
export const PERSONAL_LISTS: readonly PersonalList[] = [
  ...ACCOUNTS_PERSONAL_DATA,
  personalAgents,
  personalEgress,
  personalEgressBlocks,
  personalInstallations,
  ...CONVERSATIONS_PERSONAL_DATA,
  personalRadioStreams,
  personalVideos,
  personalProviderKeys,
  personalPauses,
  ...PAYMENTS_PERSONAL_DATA,
  personalUsage,
  personalRequestBodies,
  personalEndUsers,
  personalResponses,
  personalToolEvents,
]
