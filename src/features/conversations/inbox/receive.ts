import { and, count, eq, gt } from 'drizzle-orm'
import addressparser from 'nodemailer/lib/addressparser'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { type AgentMail, findOpenChannel, toAgentAddress } from '../../agents/channels/channels.ts'
import { mayWrite, requestPairing } from '../../agents/channels/people.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import type { Base } from '../../base.ts'
import { recordChannelLine } from '../chat/channels/record.ts'
import { CODE_JOB } from './answer.ts'
import { describeAutomatic, type MailHeaders, type MailThread, readDmarc, readThread } from './headers.ts'
import { type InboxRow, inboxMessages, type MailFile } from './tables.ts'

/** Delivers a mail to its agent; the job is in `jobs.ts`. */
export const DELIVER_MAIL_JOB = 'inbox.deliver'

const HOUR_MS = 3_600_000
const MAX_PER_HOUR = 10
const MAX_SUBJECT_CHARACTERS = 300
const MAX_ADDRESSES_CHARACTERS = 10_000
const MAX_NAME_CHARACTERS = 100

/** A mail as the service reports it. `authentication` is the Authentication-Results header. */
export type IncomingMail = {
  headers: MailHeaders
  /** Message id that the service reports besides the headers, or null. */
  messageId: string | null
  from: string
  to: string
  subject: string
  authentication: string | null
}

/**
 * Outcome of a mail: accepted for an agent, rejected, rejected with a pairing code, over the limit of one sender, or
 * without content.
 */
type MailOutcome = 'processed' | 'rejected' | 'pairing' | 'rate_limited' | 'fetch_error'

/** A parsed mail. Parsing takes too long for a write transaction. */
type ReadMail = MailThread & {
  /** Null unless exactly one address is given, and for a mail that fails DMARC. */
  sender: string | null
  senderName: string
  /** Agent ids in the recipients' addresses. */
  agentIds: string[]
  subject: string
  isProved: boolean
  automatic: string | null
}

type MailContent = { text: string; files: MailFile[] }

/** Parses a mail without its body. */
export function readMail({ from, to, subject, headers, authentication, messageId }: IncomingMail): ReadMail {
  const dmarc = readDmarc(authentication)
  const [address, another] = readAddresses(from)
  const isForged = dmarc !== null && dmarc !== 'pass'
  const sender = isForged || another !== undefined ? null : (address?.address.toLowerCase() ?? null)
  return {
    sender,
    senderName: (address?.name ?? '').slice(0, MAX_NAME_CHARACTERS),
    agentIds: readAddresses(to).map((recipient) => toAgentId(recipient.address.toLowerCase())),
    subject: subject.slice(0, MAX_SUBJECT_CHARACTERS),
    isProved: dmarc === 'pass',
    automatic: sender === null ? null : describeAutomatic(headers, sender),
    ...readThread(headers, messageId),
  }
}

function readAddresses(text: string) {
  return text.length > MAX_ADDRESSES_CHARACTERS ? [] : addressparser(text, { flatten: true })
}

function toAgentId(address: string): string {
  const local = address.slice(0, address.lastIndexOf('@'))
  return local.slice(local.lastIndexOf('+') + 1)
}

/** The recipient agent, and whether the sender is admitted; null for a mail without a recipient. */
type Addressed = { agent: Pick<AgentRow, 'id' | 'ownerId'>; sender: string; isLetIn: boolean }

/** Finds the recipient without side effects. */
export function addressMail(
  deps: {
    /** `authservId` names the mail service whose DMARC results are trusted. */
    webhooks: { allowedSenders: readonly string[]; authservId: string | undefined }
    agentMail: AgentMail
  },
  db: Db | Tx,
  mail: Pick<ReadMail, 'sender' | 'agentIds' | 'isProved'>,
): Addressed | null {
  const { sender, isProved } = mail
  const agent = sender === null ? null : findAddressee(db, mail.agentIds)
  if (!sender || !agent || sender === toAgentAddress(deps.agentMail, agent.id)) return null
  const isOpen = findOpenChannel(db, agent.id, 'mail') !== null
  // Sender addresses can be forged: only the operator may trust a service without DMARC.
  const isKnown = isOpen && isProved && mayWrite(db, { agentId: agent.id, channel: 'mail' }, sender)
  return { agent, sender, isLetIn: isKnown || deps.webhooks.allowedSenders.includes(sender) }
}

/**
 * Stores a mail of an admitted sender for the agent in its address, `<agentId>@…` or `…+<agentId>@…`, and enqueues its
 * delivery.
 * @throws AppError `storage_full` when the owner has no space; the mail service retries.
 */
export function receiveMail(
  deps: Base & {
    storage: Pick<StorageQuota, 'within'>
    /** `authservId` names the mail service whose DMARC results are trusted. */
    webhooks: { allowedSenders: readonly string[]; authservId: string | undefined }
    agentMail: AgentMail
  },
  tx: Tx,
  mail: ReadMail,
  { text, files }: MailContent,
): MailOutcome {
  const addressed = addressMail(deps, tx, mail)
  if (!addressed) return 'rejected'
  const { agent, sender } = addressed
  if (!addressed.isLetIn) return sendCode(deps, tx, addressed, mail)
  const now = deps.clock.now()
  if (isBusy(tx, sender, now)) return 'rate_limited'
  const { subject, messageId, references, threadId, automatic } = mail
  if (!text && files.length === 0) return 'fetch_error'
  const id = newId('mail')
  const received = { id, agentId: agent.id, sender, text, files, receivedAt: now }
  const described = { subject, messageId, references, threadId, automatic }
  const row = { ...received, ...described, status: 'queued' } as const
  deps.storage.within(tx, agent.ownerId, () => {
    const stored = tx.insert(inboxMessages).values(row).returning().get()
    recordMail(deps, tx, { agent, mail: stored })
  })
  deps.enqueue(tx, DELIVER_MAIL_JOB, { id }, { key: `inbox:${id}`, share: agent.ownerId })
  return 'processed'
}

function recordMail(
  deps: { clock: Clock },
  tx: Tx,
  { agent, mail }: { agent: Addressed['agent']; mail: InboxRow },
): void {
  const names = mail.files.map(({ name }) => `[Attached file ${name}]`)
  recordChannelLine(deps, tx, agent, {
    platform: 'mail',
    channelKey: toMailSession(mail, findOpenChannel(tx, agent.id, 'mail') !== null),
    externalId: mail.id,
    title: mail.subject || mail.sender,
    sender: 'user',
    author: mail.sender,
    content: [mail.subject, mail.text, ...names].filter(Boolean).join('\n\n'),
    status: 'sent',
    at: mail.receivedAt,
  })
}

/**
 * Returns the agent's session key of a mail: one per thread of a sender, and one for all mail of a sender who gets no
 * reply.
 */
export function toMailSession(
  { sender, threadId }: Pick<InboxRow, 'sender' | 'threadId'>,
  isAnswered: boolean,
): string {
  const thread = isAnswered && threadId !== null ? `:${sha256(threadId).slice(0, 16)}` : ''
  return `mail:${sender.slice(0, 180)}${thread}`
}

/**
 * Sends a pairing code to a stranger if the agent answers mail and DMARC verified the domain: forged mail must not make
 * the agent write to the forged address.
 */
function sendCode(deps: Base, tx: Tx, { agent, sender }: Addressed, mail: ReadMail): MailOutcome {
  const isAllowed = findOpenChannel(tx, agent.id, 'mail') && mail.isProved
  if (!isAllowed || mail.automatic !== null) return 'rejected'
  const name = mail.senderName
  const code = requestPairing(tx, deps, { agentId: agent.id, channel: 'mail' }, { id: sender, name: name || sender })
  if (code === null) return 'rejected'
  const { messageId, references, subject } = mail
  deps.enqueue(tx, CODE_JOB, { agentId: agent.id, to: sender, code, subject, messageId, references })
  return 'pairing'
}

function findAddressee(tx: Db | Tx, ids: readonly string[]): Pick<AgentRow, 'id' | 'ownerId'> | null {
  for (const id of ids) {
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
