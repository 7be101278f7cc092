import addressparser from 'nodemailer/lib/addressparser'
import { orLate } from '../../core/concurrency/or-late.ts'
import type { Log } from '../../core/log.ts'

/** `reply` is there for what an agent writes to somebody; everything else comes from the house. */
export type Mail = { to: string; subject: string; text: string; html?: string; reply?: MailReply }

/** Who answers, and where in a thread (RFC 5322, 3.6.4). What cannot be delivered comes back to the house, never to `from`. */
export type MailReply = {
  from: { name: string; address: string }
  messageId: string
  inReplyTo: string | null
  references: readonly string[]
}

/** Sends mail, or says that it cannot. */
export type Mailer = {
  /** Does mail reach people? Only then is an address proved by following a link. */
  readonly isConfigured: boolean
  /** Without mail, in development: whoever runs the program reads the links in its log. */
  readonly writesToLog: boolean
  /** @throws Error of the mail server, or when `signal` aborts; the job that sends tries again. */
  send(mail: Mail, signal?: AbortSignal): Promise<void>
}

/** `smtpUrl` may hold a password. */
export type MailerOptions = { smtpUrl: string | undefined; from: string }
type Logging = { writesToLog: boolean }

const TIMEOUT_MS = 10_000
const TIMEOUTS = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS }
/** For the whole conversation: a server that answers one letter at a time must not hold a job for ever. */
const TOTAL_TIMEOUT_MS = 30_000

/**
 * Mail over `smtpUrl`. Without one nothing is sent; in development (`writesToLog`) the text, with its link, goes to the
 * log at `info` instead.
 */
export function createMailer({ smtpUrl, from, writesToLog }: MailerOptions & Logging, deps: { log: Log }): Mailer {
  return smtpUrl ? createSmtpMailer(smtpUrl, from) : createLogMailer(writesToLog, deps)
}

/** As `createMailer`, by what `read` says at the moment. */
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

/** Speaks to the server and signs in, and sends nothing. @throws Error of the server, or when it takes too long. */
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
