import type { Clock } from '../../../core/clock.ts'
import type { Db } from '../../../db/open.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import { deleteOldThrottles } from '../lockout/throttle.ts'
import { deleteExpiredEmailTokens } from '../mails/email-tokens.ts'
import { MAIL_JOB, MailRequest, type SendMailDeps, sendMail } from '../mails/send-mail.ts'
import type { Sessions } from '../sessions/sessions.ts'

const HOUR_MS = 3_600_000
/** With the queue's pauses that is an hour and a half: a mail server may be restarted meanwhile. */
const MAIL_ATTEMPTS = 24

/** Forgets sessions that have ended. */
export function sessionsJob(deps: { sessions: Sessions }): RepeatingJob {
  return { name: 'accounts.sessions', everyMs: HOUR_MS, run: () => deps.sessions.deleteExpired() }
}

/** Forgets failed attempts and used proofs of work whose time is over. */
export function throttlesJob({ db, clock }: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'accounts.throttles', everyMs: HOUR_MS, run: () => deleteOldThrottles(db, clock) }
}

/** Forgets mailed links whose time is over. */
export function emailTokensJob(deps: { db: Db; clock: Clock }): RepeatingJob {
  return { name: 'accounts.email-tokens', everyMs: HOUR_MS, run: () => deleteExpiredEmailTokens(deps) }
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
