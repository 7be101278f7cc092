import { and, count, eq, gt } from 'drizzle-orm'
import { convert } from 'html-to-text'
import addressparser from 'nodemailer/lib/addressparser'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { type AgentMail, findOpenChannel, toAgentAddress } from '../../agents/channels/mail.ts'
import { askToBeLetIn, isLetIn } from '../../agents/channels/people.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import { CODE_JOB } from './answer.ts'
import { describeAutomatic, type MailHeaders, readDmarc, readThread } from './headers.ts'
import { inboxMessages, type MailFile } from './tables.ts'

/** Gives a mail to its agent; `jobs.ts` does it. */
export const DELIVER_JOB = 'inbox.deliver'

const HOUR_MS = 3_600_000
const MAX_PER_HOUR = 10
const MAX_TEXT_CHARACTERS = 5000
const MAX_SUBJECT_CHARACTERS = 300
const MAX_HTML_CHARACTERS = 200_000
const MAX_ADDRESSES_CHARACTERS = 10_000
const MAX_NAME_CHARACTERS = 100

/** A mail as a service tells of it; a missing body is null. `authentication` is the header Authentication-Results. */
export type IncomingMail = {
  headers: MailHeaders
  /** What the service tells beside the headers, null where it does not. */
  messageId: string | null
  from: string
  to: string
  subject: string
  body: string | null
  authentication: string | null
}

/** What became of a mail: for an agent, turned away, turned away with a code, too many of one sender, or without anything to read. */
export type MailOutcome = 'processed' | 'rejected' | 'pairing' | 'rate_limited' | 'fetch_error'

export type ReceiveDeps = {
  clock: Clock
  enqueue: Enqueue
  storage: Pick<StorageQuota, 'within'>
  /** `authservId` names the mail service whose word on a sender counts. */
  webhooks: { allowedSenders: readonly string[]; authservId: string | undefined }
  agentMail: AgentMail
}

/** For which agent a mail is, and whether its sender is let in; null for one that nobody gets. */
export type Addressed = { agent: Pick<AgentRow, 'id' | 'ownerId'>; sender: string; isLetIn: boolean }

/** Changes nothing. */
export function addressMail(
  deps: Pick<ReceiveDeps, 'webhooks' | 'agentMail'>,
  db: Db | Tx,
  mail: IncomingMail,
): Addressed | null {
  const sender = readSender(mail)
  const agent = sender === null ? null : findAddressee(db, mail.to)
  if (!sender || !agent || sender === toAgentAddress(deps.agentMail, agent.id)) return null
  const isOpen = findOpenChannel(db, agent.id, 'mail') !== null
  // Anybody can write the name of the owner: only the operator may trust a service that proves nothing.
  const isProved = readDmarc(mail.authentication) === 'pass'
  const isKnown = isOpen && isProved && isLetIn(db, { agentId: agent.id, channel: 'mail' }, sender)
  return { agent, sender, isLetIn: isKnown || deps.webhooks.allowedSenders.includes(sender) }
}

/**
 * Puts a mail of an allowed sender into the inbox of the agent it is addressed to, `<agentId>@…` or `…+<agentId>@…`, and
 * has it delivered. @throws AppError `storage_full` when its owner has no space: the service that tells of it does so again.
 */
export function receiveMail(deps: ReceiveDeps, tx: Tx, mail: IncomingMail, files: MailFile[] = []): MailOutcome {
  const addressed = addressMail(deps, tx, mail)
  if (!addressed) return 'rejected'
  const { agent, sender } = addressed
  if (!addressed.isLetIn) return tellCode(deps, tx, addressed, mail)
  const now = deps.clock.now()
  if (isBusy(tx, sender, now)) return 'rate_limited'
  const text = toText(mail.body)
  if (!text && files.length === 0) return 'fetch_error'
  const id = newId('mail')
  const received = { id, agentId: agent.id, sender, text, files, receivedAt: now }
  const row = { ...received, ...describeMail(mail, sender), status: 'queued' } as const
  deps.storage.within(tx, agent.ownerId, () => tx.insert(inboxMessages).values(row).run())
  deps.enqueue(tx, DELIVER_JOB, { id }, { key: `inbox:${id}`, share: agent.ownerId })
  return 'processed'
}

function describeMail({ subject, headers, messageId }: IncomingMail, sender: string) {
  return {
    subject: subject.slice(0, MAX_SUBJECT_CHARACTERS),
    ...readThread(headers, messageId),
    automatic: describeAutomatic(headers, sender),
  }
}

/**
 * A stranger is told a code when the agent answers mail and the domain of the address vouches for it: what is forged must
 * not make the agent write to whoever is named.
 */
function tellCode(deps: ReceiveDeps, tx: Tx, { agent, sender }: Addressed, mail: IncomingMail): MailOutcome {
  const isTold = findOpenChannel(tx, agent.id, 'mail') && readDmarc(mail.authentication) === 'pass'
  if (!isTold || describeAutomatic(mail.headers, sender) !== null) return 'rejected'
  const name = (addressparser(mail.from, { flatten: true })[0]?.name ?? '').slice(0, MAX_NAME_CHARACTERS)
  const code = askToBeLetIn(tx, deps, { agentId: agent.id, channel: 'mail' }, { id: sender, name: name || sender })
  if (code === null) return 'rejected'
  const { messageId, references } = readThread(mail.headers, mail.messageId)
  const subject = mail.subject.slice(0, MAX_SUBJECT_CHARACTERS)
  deps.enqueue(tx, CODE_JOB, { agentId: agent.id, to: sender, code, subject, messageId, references })
  return 'pairing'
}

/** Null unless exactly one address stands there, and for a mail whose own domain says that it is forged. */
function readSender({ from, authentication }: IncomingMail): string | null {
  if ((readDmarc(authentication) ?? 'pass') !== 'pass') return null
  const [address, another] = readAddresses(from)
  return another === undefined ? (address ?? null) : null
}

function readAddresses(text: string): string[] {
  if (text.length > MAX_ADDRESSES_CHARACTERS) return []
  return addressparser(text, { flatten: true }).map(({ address }) => address.toLowerCase())
}

/** The first agent that one of the addresses names. */
function findAddressee(tx: Db | Tx, to: string): Pick<AgentRow, 'id' | 'ownerId'> | null {
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
