import addressparser from 'nodemailer/lib/addressparser'
import { orLate } from '../../core/concurrency/race.ts'
import type { Log } from '../../core/log.ts'

/** `reply` is set for mail from an agent and absent for mail from the platform. */
export type Mail = { to: string; subject: string; text: string; html?: string; reply?: MailReply }

/** Reply address and thread of a mail (RFC 5322, section 3.6.4). Bounces go to the platform, never to `from`. */
export type MailReply = {
  from: { name: string; address: string }
  messageId: string
  inReplyTo: string | null
  references: readonly string[]
}

export type Mailer = {
  /** True when mail is delivered. Without delivery, following a link proves no ownership of an address. */
  readonly isConfigured: boolean
  /** True in development without mail: links are written to the log. */
  readonly writesToLog: boolean
  /** @throws the mail server's error, or when `signal` aborts; the sending job retries. */
  send(mail: Mail, signal?: AbortSignal): Promise<void>
}

/** `smtpUrl` may hold a password. */
type MailerOptions = { smtpUrl: string | undefined; from: string }
type Logging = { writesToLog: boolean }

const TIMEOUT_MS = 10_000
const TIMEOUTS = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS }
/** Limits the whole SMTP session, so a slow server cannot block a job forever. */
const TOTAL_TIMEOUT_MS = 30_000

/**
 * Creates a mailer for `smtpUrl`. Without one it sends nothing; with `writesToLog` it logs the text and its link at
 * `info`.
 */
export function createMailer({ smtpUrl, from, writesToLog }: MailerOptions & Logging, deps: { log: Log }): Mailer {
  return smtpUrl ? createSmtpMailer(smtpUrl, from) : createLogMailer(writesToLog, deps)
}

/** Works like `createMailer` with the current result of `read`. */
export function createLiveMailer(options: { read: () => MailerOptions } & Logging, deps: { log: Log }): Mailer {
  const open = () => createMailer({ ...options.read(), writesToLog: options.writesToLog }, deps)
  return {
    get isConfigured() {
      return open().isConfigured
    },
    get writesToLog() {
      return open().writesToLog
    },
    send: (mail, signal) => open().send(mail, signal),
  }
}

/** Connects and signs in without sending. @throws the server's error or a timeout. */
export async function tryMailServer(smtpUrl: string): Promise<void> {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({ url: smtpUrl, ...TIMEOUTS })
  try {
    const isLate = await orLate(transport.verify(), TOTAL_TIMEOUT_MS, 'late' as const)
    if (isLate === 'late') throw new Error('the mail server takes too long')
  } finally {
    transport.close()
  }
}

function createSmtpMailer(url: string, from: string): Mailer {
  return {
    isConfigured: true,
    writesToLog: false,
    async send({ to, subject, text, html, reply }, signal) {
      const timeout = AbortSignal.timeout(TOTAL_TIMEOUT_MS)
      const { createTransport } = await import('nodemailer')
      await createTransport({ url, ...TIMEOUTS }, { from }).sendMail({
        to: { name: '', address: to },
        subject,
        text,
        ...(html !== undefined && { html }),
        ...(reply && toReply(reply, { from, to })),
        headers: { 'auto-submitted': reply ? 'auto-replied' : 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      })
    },
  }
}

function toReply({ from, messageId, inReplyTo, references }: MailReply, installation: { from: string; to: string }) {
  const [bounces] = addressparser(installation.from, { flatten: true })
  return {
    from,
    envelope: { from: bounces?.address ?? from.address, to: installation.to },
    messageId,
    ...(inReplyTo !== null && { inReplyTo }),
    references: [...references],
  }
}

function createLogMailer(writesToLog: boolean, deps: { log: Log }): Mailer {
  return {
    isConfigured: false,
    writesToLog,
    async send({ to, subject, text }) {
      if (writesToLog) deps.log.info({ to, subject, text }, 'SMTP_URL is not set: this mail was not sent')
    },
  }
}
