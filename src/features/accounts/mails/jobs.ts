import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { deleteExpiredEmailTokens } from './email-tokens.ts'
import { MAIL_JOB, MailRequest, type SendMailDeps, sendMail } from './send-mail.ts'

const HOUR_MS = 3_600_000
/** With the queue's pauses that is an hour and a half: a mail server may be restarted meanwhile. */
const MAIL_ATTEMPTS = 24

/** Forgets mailed links whose time is over. */
export function emailTokensJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'accounts.email-tokens', everyMs: HOUR_MS, run: (signal) => deleteExpiredEmailTokens(deps, signal) }
}

/** Mails go out here, so that neither a slow mail server nor the existence of an account shows in any request. */
export function mailJob(deps: SendMailDeps): JobKind {
  return defineJob({
    kind: MAIL_JOB,
    payload: MailRequest,
    maxAttempts: MAIL_ATTEMPTS,
    run: (request, signal) => sendMail(deps, request, signal),
  })
}
