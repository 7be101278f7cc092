import { and, count, eq, gt } from 'drizzle-orm'
import { convert } from 'html-to-text'
import addressparser from 'nodemailer/lib/addressparser'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import type { Tx } from '../../../db/open.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import { inboxMessages } from './tables.ts'

/** Gives a mail to its agent; `jobs.ts` does it. */
export const DELIVER_JOB = 'inbox.deliver'

const HOUR_MS = 3_600_000
const MAX_PER_HOUR = 10
const MAX_TEXT_CHARACTERS = 5000
const MAX_SUBJECT_CHARACTERS = 300
const MAX_HTML_CHARACTERS = 200_000
const MAX_ADDRESSES_CHARACTERS = 10_000

/** A mail as a service tells of it; a missing body is null. `authentication` is the header Authentication-Results. */
export type IncomingMail = {
  from: string
  to: string
  subject: string
  body: string | null
  authentication: string | null
}

/** What became of a mail: for an agent, turned away, too many of one sender, or without anything to read. */
export type MailOutcome = 'processed' | 'rejected' | 'rate_limited' | 'fetch_error'

export type ReceiveDeps = {
  clock: Clock
  enqueue: Enqueue
  storage: Pick<StorageQuota, 'within'>
  webhooks: { allowedSenders: readonly string[] }
}

/**
 * Puts a mail of an allowed sender into the inbox of the agent it is addressed to, `<agentId>@…` or `…+<agentId>@…`, and
 * has it delivered. @throws AppError `storage_full` when its owner has no space: the service that tells of it does so again.
 */
export function receiveMail(deps: ReceiveDeps, tx: Tx, mail: IncomingMail): MailOutcome {
  const sender = readSender(mail)
  if (!sender || !deps.webhooks.allowedSenders.includes(sender)) return 'rejected'
  const agent = findAddressee(tx, mail.to)
  if (!agent) return 'rejected'
  const now = deps.clock.now()
  if (isBusy(tx, sender, now)) return 'rate_limited'
  const text = toText(mail.body)
  if (!text) return 'fetch_error'
  const id = newId('mail')
  const subject = mail.subject.slice(0, MAX_SUBJECT_CHARACTERS)
  const row = { id, agentId: agent.id, sender, subject, text, status: 'queued', receivedAt: now } as const
  deps.storage.within(tx, agent.ownerId, () => tx.insert(inboxMessages).values(row).run())
  deps.enqueue(tx, DELIVER_JOB, { id }, { key: `inbox:${id}` })
  return 'processed'
}

/** Null unless exactly one address stands there, and for a mail whose own domain says that it is forged. */
function readSender({ from, authentication }: IncomingMail): string | null {
  if (/\bdmarc=(?!pass\b)\w+/i.test(authentication ?? '')) return null
  const [address, another] = readAddresses(from)
  return another === undefined ? (address ?? null) : null
}

function readAddresses(text: string): string[] {
  if (text.length > MAX_ADDRESSES_CHARACTERS) return []
  return addressparser(text, { flatten: true }).map(({ address }) => address.toLowerCase())
}

/** The first agent that one of the addresses names. */
function findAddressee(tx: Tx, to: string): Pick<AgentRow, 'id' | 'ownerId'> | null {
  for (const address of readAddresses(to)) {
    const local = address.slice(0, address.lastIndexOf('@'))
    const id = local.slice(local.lastIndexOf('+') + 1)
    const agent = tx.select({ id: agents.id, ownerId: agents.ownerId }).from(agents).where(eq(agents.id, id)).get()
    if (agent) return agent
  }
  return null
}

function isBusy(tx: Tx, sender: string, now: Date): boolean {
  const isRecent = gt(inboxMessages.receivedAt, new Date(now.getTime() - HOUR_MS))
  const recent = tx
    .select({ mails: count() })
    .from(inboxMessages)
    .where(and(eq(inboxMessages.sender, sender), isRecent))
    .get()
  return (recent?.mails ?? 0) >= MAX_PER_HOUR
}

/** What there is to read, without tags. */
function toText(body: string | null): string {
  if (!body) return ''
  const text = convert(body, {
    wordwrap: false,
    preserveNewlines: true,
    limits: { maxInputLength: MAX_HTML_CHARACTERS, maxDepth: 64, ellipsis: '' },
    selectors: [
      { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
      { selector: 'img', format: 'skip' },
    ],
  })
  return [...text.trim()].slice(0, MAX_TEXT_CHARACTERS).join('')
}
