import { type MailServer, startMailServer } from './doubles/mail-server.ts'
import { startJobs } from './jobs.ts'
import { type TestOptions, testPlatform } from './platform.ts'
import { cookiesOf, json } from './requests.ts'
import { until } from './until.ts'

export type MailingPlatform = Awaited<ReturnType<typeof mailingPlatform>>

/** A test platform whose jobs run and whose mail arrives at a real SMTP server, and what people do there. */
export async function mailingPlatform(options: TestOptions = {}) {
  const mail = await startMailServer()
  const environment = { SMTP_URL: mail.url, APP_URL: 'https://stead.example', ...options.environment }
  const test = testPlatform({ ...options, environment })
  const jobs = startJobs(test.platform)
  return {
    ...test,
    mail,
    /** Waits for a mail to `to` whose subject holds `subject`, the `count`th such one. */
    arrival: (to: string, subject: string, count = 1) =>
      until(`mail ${count} to ${to}: ${subject}`, () => findMails(mail, to, subject)[count - 1]),
    /** Registers, which mails a link to prove the address, and signs in. */
    signUp: async (email: string, password: string) => {
      await test.web.request('/api/register', json('POST', { email, password }))
      return { cookie: await login(test, email, password) }
    },
    login: (email: string, password: string) => login(test, email, password),
    [Symbol.asyncDispose]: async () => {
      await jobs[Symbol.asyncDispose]()
      await mail[Symbol.asyncDispose]()
    },
  }
}

function findMails(mail: MailServer, to: string, subject: string) {
  return mail.received.filter((one) => one.to.includes(to) && one.subject.includes(subject))
}

/** Signs in and returns the cookie, empty when that is refused. */
async function login({ web }: ReturnType<typeof testPlatform>, email: string, password: string): Promise<string> {
  const response = await web.request('/api/auth/login', json('POST', { email, password }))
  return cookiesOf(response)
}
