import { and, eq, lt } from 'drizzle-orm'
import type { ZodType } from 'zod'
import type { MailReader } from '../../../adapters/mail/reader.ts'
import { addDays } from '../../../core/clock.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { deleteInBatches } from '../../../db/in-batches.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { AgentMail } from '../../agents/channels/channels.ts'
import type { Base } from '../../base.ts'
import { findAuthentication } from '../../conversations/inbox/headers.ts'
import { addressMail, type IncomingMail, readMail, receiveMail } from '../../conversations/inbox/receive.ts'
import type { MailFile } from '../../conversations/inbox/tables.ts'
import { type AttachDeps, keepFile } from '../attachments/attach.ts'
import { applyStreamEvent } from '../radio/streams.ts'
import { type MailAttachment, MailEvent, VideoEvent } from './schemas.ts'
import { webhookEvents } from './tables.ts'

const RECEIVED = 'received'
const DAYS_KEPT = 7
const HOUR_MS = 3_600_000

export type WebhookDeps = Base &
  Omit<AttachDeps, 'clock'> & {
    /** `authservId` names the mail service whose DMARC results are trusted. */
    webhooks: { allowedSenders: readonly string[]; authservId: string | undefined }
    agentMail: AgentMail
    mailReader: Pick<MailReader, 'toText'>
  }

/** Applies an event of the video service once. @throws AppError `invalid` for an unexpected payload. */
export async function receiveVideoEvent(deps: WebhookDeps, body: Uint8Array): Promise<void> {
  const event = parse(VideoEvent, body)
  const { id, type, data } = event
  await actOnce(deps, { source: 'video', id, type, subject: data.id }, (tx) => {
    applyStreamEvent(tx, { ...event, createdAt: event.created_at ?? deps.clock.now() })
    return RECEIVED
  })
}

/**
 * Applies an event of the mail service once; `action` is the outcome for an incoming mail.
 * @throws AppError `invalid` for an unexpected payload.
 */
export async function receiveMailEvent(deps: WebhookDeps, id: string, body: Uint8Array): Promise<{ action?: string }> {
  const { type, data } = parse(MailEvent, body)
  const mail = readMail(toMail(data, deps.webhooks.authservId))
  const event = { source: 'email', id, type, subject: null } as const
  // Reads the content only for a mail with a recipient, before its agent is notified.
  const addressed = type === 'email.received' && !findEarlier(deps.db, event) ? addressMail(deps, deps.db, mail) : null
  const files = addressed?.isLetIn ? await keepMailFiles(deps, addressed.agent.id, data.attachments) : []
  const content = { text: addressed?.isLetIn ? await readBody(deps, data) : '', files }
  const outcome = await actOnce(deps, event, (tx) =>
    type === 'email.received' ? receiveMail(deps, tx, mail, content) : RECEIVED,
  )
  return outcome === RECEIVED ? {} : { action: outcome }
}

function toMail(
  { headers, message_id: messageId, from, to, subject }: MailEvent['data'],
  authservId: string | undefined,
): IncomingMail {
  return {
    from,
    to,
    subject,
    headers,
    messageId: messageId ?? null,
    authentication: findAuthentication(headers, authservId),
  }
}

/** Deletes events after a week, when their senders no longer retry them. */
export function webhookEventsJob(deps: Base): RepeatingJob {
  return {
    name: 'webhooks.forget',
    everyMs: HOUR_MS,
    async run(signal) {
      const isOld = lt(webhookEvents.receivedAt, addDays(deps.clock.now(), -DAYS_KEPT))
      await deleteInBatches(deps.db, webhookEvents, isOld, signal)
    },
  }
}

type NewEvent = Pick<typeof webhookEvents.$inferInsert, 'source' | 'id' | 'type' | 'subject'>

/** Applies an event and returns its outcome; for a repeated event, returns the stored outcome. */
function actOnce(deps: WebhookDeps, event: NewEvent, applyEvent: (tx: Tx) => string): Promise<string> {
  return write(deps.db, (tx) => {
    const earlier = findEarlier(tx, event)
    if (earlier) return earlier.outcome
    const outcome = applyEvent(tx)
    tx.insert(webhookEvents)
      .values({ ...event, outcome, receivedAt: deps.clock.now() })
      .run()
    return outcome
  })
}

function findEarlier(db: Db | Tx, { source, id }: Pick<NewEvent, 'source' | 'id'>) {
  const isSame = and(eq(webhookEvents.source, source), eq(webhookEvents.id, id))
  return db.select().from(webhookEvents).where(isSame).get()
}

function parse<T>(schema: ZodType<T>, body: Uint8Array): T {
  const parsed = schema.safeParse(parseJson(body))
  if (!parsed.success) throw new AppError('invalid', 'Invalid payload', {}, { cause: parsed.error })
  return parsed.data
}

/** Returns undefined, which every schema here rejects, for bytes that are not JSON. */
function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

const MAX_FILES = 8
const MAX_NAME_CHARACTERS = 200

/** Writes a mail's attachments into the agent's workspace; lists a file that cannot be stored with the reason. */
async function keepMailFiles(
  deps: Omit<AttachDeps, 'clock'>,
  agentId: string,
  attachments: readonly MailAttachment[],
): Promise<MailFile[]> {
  const files: MailFile[] = []
  for (const [index, attachment] of attachments.entries()) files.push(await keepOne(deps, agentId, attachment, index))
  return files
}

async function keepOne(
  deps: Omit<AttachDeps, 'clock'>,
  agentId: string,
  { filename, content_type: mediaType, content }: MailAttachment,
  index: number,
): Promise<MailFile> {
  const name = filename.slice(0, MAX_NAME_CHARACTERS) || `file-${index + 1}`
  const lost = (problem: string) => ({ name, path: null, textPath: null, mediaType, sizeBytes: 0, problem })
  if (index >= MAX_FILES) return lost(`A mail has at most ${MAX_FILES} files`)
  if (content === null) return lost('The mail service did not send it')
  try {
    const bytes = Buffer.from(content, 'base64')
    const { kept } = await keepFile(deps, { kind: 'operator' }, agentId, { name, bytes })
    const { path, textPath, sizeBytes } = kept
    return { name, path, textPath, mediaType: kept.mediaType, sizeBytes, problem: null }
  } catch (error) {
    if (error instanceof AppError) return lost(error.message)
    throw error
  }
}

const MAX_TEXT_CHARACTERS = 5000

/**
 * Returns the first 5,000 characters of a mail's readable text, or an empty text. The plain part replaces an HTML part
 * that is too expensive to read.
 * @throws AppError `unavailable` while too many mails are being read: the mail service then resends the event.
 */
async function readBody(
  deps: { log: Log; mailReader: Pick<MailReader, 'toText'> },
  { html, text }: Pick<MailEvent['data'], 'html' | 'text'>,
): Promise<string> {
  if (!html) return shorten(text ?? '')
  try {
    return shorten(await deps.mailReader.toText(html))
  } catch (error) {
    if (error instanceof AppError && error.kind === 'unavailable') throw error
    deps.log.warn({ error: errorMessage(error) }, 'the HTML of a mail cannot be read')
    return shorten(text ?? '')
  }
}

function shorten(text: string): string {
  // A character has at most two UTF-16 code units.
  return [...text.trim().slice(0, 2 * MAX_TEXT_CHARACTERS)].slice(0, MAX_TEXT_CHARACTERS).join('')
}
