import { z } from 'zod'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import { type EraseDeps, eraseAccount, FORGET_JOB } from './delete-account.ts'
import { forgetAccount } from './forget.ts'

/**
 * A long history is not rewritten while its owner waits for the account to be deleted. What a crash left of the account
 * goes first.
 */
export function forgetJob(deps: EraseDeps): JobKind {
  return defineJob({
    kind: FORGET_JOB,
    payload: z.object({ userId: z.string() }),
    async run({ userId }, signal) {
      await eraseAccount(deps, userId, signal)
      await forgetAccount(deps.db, userId, signal)
    },
  })
}
