import { and, eq } from 'drizzle-orm'
import type { Db } from '../../src/db/open.ts'
import { MAIL_JOB } from '../../src/features/accounts/notifications/send-mail.ts'
import { jobs } from '../../src/jobs/tables.ts'
import { type MailServer, startMailServer } from './doubles/mail-server.ts'
import { startJobs } from './jobs.ts'
import { type TestOptions, testPlatform } from './platform.ts'
import { cookiesOf, json } from './requests.ts'
import { until } from './until.ts'

export type MailingPlatform = Awaited<ReturnType<typeof mailingPlatform>>

/** Creates a test platform with running jobs and a real SMTP server. */
export async function mailingPlatform(options: TestOptions = {}) {
  const mail = await startMailServer()
  const environment = { SMTP_URL: mail.url, APP_URL: 'https://stead.example', ...options.environment }
  const test = testPlatform({ ...options, environment })
  const runner = startJobs(test.platform)
  return {
    ...test,
    mail,
    /**
     * Waits for the `count`th mail to `to` whose subject contains `subject`, and until its job has ended: advancing the
     * clock earlier would send it again.
     */
    arrival: async (to: string, subject: string, count = 1) => {
      const arrived = await until(`mail ${count} to ${to}: ${subject}`, () => findMails(mail, to, subject)[count - 1])
      await until('no mail to be under way', () => !isMailUnderWay(test.platform.db))
      return arrived
    },
    /** Registers, which sends a verification mail, and signs in. */
    signUp: async (email: string, password: string) => {
      await test.web.request('/api/register', json('POST', { email, password }))
      return { cookie: await login(test, email, password) }
    },
    login: (email: string, password: string) => login(test, email, password),
    [Symbol.asyncDispose]: async () => {
      await runner[Symbol.asyncDispose]()
      await mail[Symbol.asyncDispose]()
    },
  }
}

function isMailUnderWay(db: Db): boolean {
  const isRunning = and(eq(jobs.kind, MAIL_JOB), eq(jobs.status, 'running'))
  return db.select({ id: jobs.id }).from(jobs).where(isRunning).get() !== undefined
}

function findMails(mail: MailServer, to: string, subject: string) {
  return mail.received.filter((one) => one.to.includes(to) && one.subject.includes(subject))
}

/** Signs in and returns the cookie; empty if sign-in fails. */
async function login({ web }: ReturnType<typeof testPlatform>, email: string, password: string): Promise<string> {
  const response = await web.request('/api/auth/login', json('POST', { email, password }))
  return cookiesOf(response)
}
