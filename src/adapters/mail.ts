import { createTransport } from 'nodemailer'
import type { Log } from '../core/log.ts'

export type Mail = { to: string; subject: string; text: string; html: string }

/** Sends mail, or says that it cannot: what needs an address proved asks `isConfigured` first. */
export type Mailer = {
  readonly isConfigured: boolean
  /** @throws Error of the mail server; the job that sends tries again. */
  send(mail: Mail): Promise<void>
}

const TIMEOUT_MS = 10_000

/**
 * Mail over `smtpUrl`. Without one nothing is sent; in development (`writesToLog`) the text, with its link, goes to the
 * log at `info` instead.
 */
export function createMailer(
  options: { smtpUrl: string | undefined; from: string; writesToLog: boolean },
  deps: { log: Log },
): Mailer {
  if (!options.smtpUrl) {
    return {
      isConfigured: false,
      async send({ to, subject, text }) {
        if (options.writesToLog) deps.log.info({ to, subject, text }, 'SMTP_URL is not set: this mail was not sent')
      },
    }
  }
  const transport = createTransport(options.smtpUrl, { from: options.from })
  const timeouts = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS }
  Object.assign(transport.options, timeouts)
  return {
    isConfigured: true,
    async send(mail) {
      await transport.sendMail(mail)
    },
  }
}
