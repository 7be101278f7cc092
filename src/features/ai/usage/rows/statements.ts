import { sql } from 'drizzle-orm'
import type { Tx } from '../../../../db/open.ts'
import {
  addedDaySums,
  addedEndUserSums,
  addedKeyDaySums,
  addedKeySums,
  addedMonthSums,
  usageDays,
  usageEndUserMonths,
  usageKeyDays,
  usageKeyMonths,
  usageMonths,
} from '../tables.ts'

/** Prepares the statements that add to the sums of users. */
export function prepareUserSums(tx: Tx) {
  const value = sql.placeholder
  return {
    day: tx
      .insert(usageDays)
      .values({
        userId: value('userId'),
        day: value('day'),
        agentId: value('agentId'),
        model: value('model'),
        provider: value('provider'),
        inputTokens: value('inputTokens'),
        cachedInputTokens: value('cachedInputTokens'),
        cacheCreationTokens: value('cacheCreationTokens'),
        outputTokens: value('outputTokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
        unpricedCalls: value('unpricedCalls'),
        ownKeyCostMicroUsd: value('ownKeyCostMicroUsd'),
        estimatedTokens: value('estimatedTokens'),
        estimatedCostMicroUsd: value('estimatedCostMicroUsd'),
        reportedCalls: value('reportedCalls'),
        reportedCostMicroUsd: value('reportedCostMicroUsd'),
        listCostMicroUsd: value('listCostMicroUsd'),
      })
      .onConflictDoUpdate({
        target: [usageDays.userId, usageDays.day, usageDays.agentId, usageDays.model, usageDays.provider],
        set: addedDaySums,
      })
      .prepare(),
    month: tx
      .insert(usageMonths)
      .values({
        userId: value('userId'),
        month: value('month'),
        tokens: value('tokens'),
        costMicroUsd: value('costMicroUsd'),
      })
      .onConflictDoUpdate({
        target: [usageMonths.userId, usageMonths.month],
        set: addedMonthSums,
      })
      .prepare(),
  }
}

/** Prepares the statements that add to the sums of keys and their end users. */
export function prepareKeySums(tx: Tx) {
  const value = sql.placeholder
  return {
    keyMonth: tx
      .insert(usageKeyMonths)
      .values({
        keyId: value('keyId'),
        month: value('month'),
        tokens: value('tokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
        unpricedCalls: value('unpricedCalls'),
      })
      .onConflictDoUpdate({ target: [usageKeyMonths.keyId, usageKeyMonths.month], set: addedKeySums })
      .prepare(),
    endUserMonth: tx
      .insert(usageEndUserMonths)
      .values({
        userId: value('userId'),
        keyId: value('keyId'),
        month: value('month'),
        endUser: value('endUser'),
        tokens: value('tokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
      })
      .onConflictDoUpdate({
        target: [
          usageEndUserMonths.userId,
          usageEndUserMonths.keyId,
          usageEndUserMonths.month,
          usageEndUserMonths.endUser,
        ],
        set: addedEndUserSums,
      })
      .prepare(),
    keyDay: tx
      .insert(usageKeyDays)
      .values({
        userId: value('userId'),
        day: value('day'),
        keyId: value('keyId'),
        model: value('model'),
        tokens: value('tokens'),
        costMicroUsd: value('costMicroUsd'),
        calls: value('calls'),
        unpricedCalls: value('unpricedCalls'),
      })
      .onConflictDoUpdate({
        target: [usageKeyDays.userId, usageKeyDays.day, usageKeyDays.keyId, usageKeyDays.model],
        set: addedKeyDaySums,
      })
      .prepare(),
  }
}
