import { and, count, eq, gt } from 'drizzle-orm'
import addressparser from 'nodemailer/lib/addressparser'
import type { Clock } from '../../../core/clock.ts'
import { newId } from '../../../core/ids.ts'
import { sha256 } from '../../../core/secrets.ts'
import type { Db, Tx } from '../../../db/open.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { type AgentMail, findOpenChannel, toAgentAddress } from '../../agents/channels/channels.ts'
import { askToBeLetIn, isLetIn } from '../../agents/channels/people.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { StorageQuota } from '../../agents/storage/quota.ts'
import { recordChannelLine } from '../chat/channels/record.ts'
import { CODE_JOB } from './answer.ts'
import { describeAutomatic, type MailHeaders, type MailThread, readDmarc, readThread } from './headers.ts'
import { type InboxRow, inboxMessages, type MailFile } from './tables.ts'

/** Gives a mail to its agent; `jobs.ts` does it. */
export const DELIVER_JOB = 'inbox.deliver'

const HOUR_MS = 3_600_000
const MAX_PER_HOUR = 10
const MAX_SUBJECT_CHARACTERS = 300
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

/** A mail as it was parsed, which takes too long for a write transaction. */
export type ReadMail = MailThread & {
  /** Null unless exactly one address is named, and for a mail whose own domain says that it is forged. */
  sender: string | null
  senderName: string
  /** The agents' ids that the addresses name. */
  agentIds: string[]
  subject: string
  isProved: boolean
  automatic: string | null
}

export type MailContent = { text: string; files: MailFile[] }

/** Parses all of a mail but its body. */
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

/** For which agent a mail is, and whether its sender is let in; null for one that nobody gets. */
export type Addressed = { agent: Pick<AgentRow, 'id' | 'ownerId'>; sender: string; isLetIn: boolean }

/** Changes nothing. */
export function addressMail(
  deps: Pick<ReceiveDeps, 'webhooks' | 'agentMail'>,
  db: Db | Tx,
  mail: Pick<ReadMail, 'sender' | 'agentIds' | 'isProved'>,
): Addressed | null {
  const { sender, isProved } = mail
  const agent = sender === null ? null : findAddressee(db, mail.agentIds)
  if (!sender || !agent || sender === toAgentAddress(deps.agentMail, agent.id)) return null
  const isOpen = findOpenChannel(db, agent.id, 'mail') !== null
  // Anybody can write the name of the owner: only the operator may trust a service that proves nothing.
  const isKnown = isOpen && isProved && isLetIn(db, { agentId: agent.id, channel: 'mail' }, sender)
  return { agent, sender, isLetIn: isKnown || deps.webhooks.allowedSenders.includes(sender) }
}

/**
 * Puts a mail of an allowed sender into the inbox of the agent it is addressed to, `<agentId>@…` or `…+<agentId>@…`, and
 * has it delivered. @throws AppError `storage_full` when its owner has no space: the service that tells of it does so again.
 */
export function receiveMail(deps: ReceiveDeps, tx: Tx, mail: ReadMail, { text, files }: MailContent): MailOutcome {
  const addressed = addressMail(deps, tx, mail)
  if (!addressed) return 'rejected'
  const { agent, sender } = addressed
  if (!addressed.isLetIn) return tellCode(deps, tx, addressed, mail)
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
  deps.enqueue(tx, DELIVER_JOB, { id }, { key: `inbox:${id}`, share: agent.ownerId })
  return 'processed'
}

/** Adds a mail to the history of its agent. */
function recordMail(
  deps: Pick<ReceiveDeps, 'clock'>,
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

/** The agent's session of a mail: one for each thread of a sender; a sender who gets no answer has one. */
export function toMailSession(
  { sender, threadId }: Pick<InboxRow, 'sender' | 'threadId'>,
  isAnswered: boolean,
): string {
  const thread = isAnswered && threadId !== null ? `:${sha256(threadId).slice(0, 16)}` : ''
  return `mail:${sender.slice(0, 180)}${thread}`
}

/**
 * A stranger is told a code when the agent answers mail and the domain of the address vouches for it: what is forged must
 * not make the agent write to whoever is named.
 */
function tellCode(deps: ReceiveDeps, tx: Tx, { agent, sender }: Addressed, mail: ReadMail): MailOutcome {
  const isTold = findOpenChannel(tx, agent.id, 'mail') && mail.isProved
  if (!isTold || mail.automatic !== null) return 'rejected'
  const name = mail.senderName
  const code = askToBeLetIn(tx, deps, { agentId: agent.id, channel: 'mail' }, { id: sender, name: name || sender })
  if (code === null) return 'rejected'
  const { messageId, references, subject } = mail
  deps.enqueue(tx, CODE_JOB, { agentId: agent.id, to: sender, code, subject, messageId, references })
  return 'pairing'
}

/** The first agent that one of the addresses names. */
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
