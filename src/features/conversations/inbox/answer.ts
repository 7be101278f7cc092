import { and, eq, gt, isNotNull } from 'drizzle-orm'
import { z } from 'zod'
import type { Mail, Mailer, MailReply } from '../../../adapters/mail/mail.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { countRows } from '../../../db/count-rows.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import {
  type AgentMail,
  findOpenChannel,
  recordChannelError,
  toAgentAddress,
  WELCOME_JOB,
} from '../../agents/channels/channels.ts'
import { agents } from '../../agents/registry/tables.ts'
import type { ReachDeps } from '../../ai/breakers/reach-limit.ts'
import { takeLimitsIn } from '../../ai/breakers/take-limits.ts'
import type { Base } from '../../base.ts'
import { type InboxRow, inboxMessages } from './tables.ts'

/** Sends the reply to a mail; `CODE_JOB` sends a pairing code to a stranger. */
const ANSWER_MAIL_JOB = 'inbox.answer'
export const CODE_JOB = 'inbox.code'

const HOUR_MS = 3_600_000
/** Limits replies within an hour, so that two programs that write to each other stop. */
const MAX_IN_THREAD = 5
const MAX_OF_AGENT = 60
/** About 90 minutes with the queue's pauses, which covers a restart of the mail server. */
const MAX_ATTEMPTS = 24

/** Status of the reply to a mail; null while the agent does not answer mail. */
type AnswerDecision = Pick<InboxRow, 'answerStatus' | 'answerError'> | null

/** Enqueues the reply in the transaction that stores it, unless it must not be sent. */
export function putAnswerOnItsWay(deps: Base & ReachDeps, tx: Tx, mail: InboxRow): AnswerDecision {
  const { clock, enqueue } = deps
  if (!findOpenChannel(tx, mail.agentId, 'mail')) return null
  const reason = mail.automatic ?? findTooMany(tx, mail, clock.now())
  if (reason !== null) return { answerStatus: 'withheld', answerError: reason }
  const reached = takeLimitsIn(deps, tx, mail.agentId, ['messages'])
  if (reached) return { answerStatus: 'withheld', answerError: reached.message }
  enqueue(tx, ANSWER_MAIL_JOB, { id: mail.id }, { key: `${ANSWER_MAIL_JOB}:${mail.id}` })
  return { answerStatus: 'queued', answerError: null }
}

function findTooMany(tx: Tx, mail: InboxRow, now: Date): string | null {
  const since = new Date(now.getTime() - HOUR_MS)
  const isAnswered = and(
    eq(inboxMessages.agentId, mail.agentId),
    gt(inboxMessages.receivedAt, since),
    isNotNull(inboxMessages.answerStatus),
  )
  const ofAgent = countRows(tx, inboxMessages, and(isAnswered, eq(inboxMessages.answerStatus, 'sent')))
  if (ofAgent >= MAX_OF_AGENT) return `It has answered ${MAX_OF_AGENT} mails within an hour`
  const isInThread =
    mail.threadId === null ? eq(inboxMessages.sender, mail.sender) : eq(inboxMessages.threadId, mail.threadId)
  const inThread = tx
    .select({ status: inboxMessages.answerStatus })
    .from(inboxMessages)
    .where(and(isAnswered, isInThread))
    .all()
  const sent = inThread.filter(({ status }) => status === 'sent' || status === 'queued').length
  return sent >= MAX_IN_THREAD ? `It has answered ${MAX_IN_THREAD} times in this thread within an hour` : null
}

/** Sends at least once; repeated mails have the same id, so mail programs show them once. */
export function answerMailJob(deps: Base & { agentMail: AgentMail; mailer: Mailer }): JobKind {
  return defineJob({
    kind: ANSWER_MAIL_JOB,
    payload: z.object({ id: z.string() }),
    maxAttempts: MAX_ATTEMPTS,
    run: ({ id }, signal) => sendAnswer(deps, id, signal),
    onDead: ({ id }, error) => giveUp(deps, id, error),
  })
}

async function sendAnswer(
  deps: Base & { agentMail: AgentMail; mailer: Mailer },
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const found = deps.db
    .select({ mail: inboxMessages, name: agents.name })
    .from(inboxMessages)
    .innerJoin(agents, eq(agents.id, inboxMessages.agentId))
    .where(and(eq(inboxMessages.id, id), eq(inboxMessages.answerStatus, 'queued')))
    .get()
  if (!found) return
  const { mail, name } = found
  const subject = /^re:/i.test(mail.subject) ? mail.subject : `Re: ${mail.subject}`.trim()
  const from = { agentId: mail.agentId, name }
  const thread = { messageId: mail.messageId, references: mail.references }
  await deps.mailer.send(compose(deps, from, { id, to: mail.sender, subject, text: mail.reply ?? '', thread }), signal)
  const sent = { answerStatus: 'sent', answerError: null, answeredAt: deps.clock.now() } as const
  await write(deps.db, (tx) => tx.update(inboxMessages).set(sent).where(eq(inboxMessages.id, id)).run())
}

async function giveUp(deps: Base, id: string, error: unknown): Promise<void> {
  const answerError = `The mail server did not take it: ${errorMessage(error)}`
  await write(deps.db, (tx) => {
    const [mail] = tx
      .update(inboxMessages)
      .set({ answerStatus: 'failed', answerError })
      .where(eq(inboxMessages.id, id))
      .returning({ agentId: inboxMessages.agentId })
      .all()
    if (mail) recordChannelError(tx, deps.clock, mail.agentId, 'mail', answerError)
  })
}

/** The recipient of a pairing code, and the mail that it answers. */
const CodeMail = z.object({
  agentId: z.string(),
  to: z.string(),
  code: z.string(),
  subject: z.string(),
  messageId: z.string().nullable(),
  references: z.array(z.string()),
})

/** Sends a pairing code: at most one per hour and stranger, and only if DMARC verified the sender's domain. */
export function codeMailJob(deps: { db: Db; agentMail: AgentMail; mailer: Mailer }): JobKind {
  return defineJob({
    kind: CODE_JOB,
    payload: CodeMail,
    run: ({ agentId, to, code, subject, ...thread }, signal) => {
      const text = `I do not know you yet, so I have not read your mail. My owner can let you in with this code, which is good for an hour: ${code}\n`
      const mail = { id: `code-${code.toLowerCase()}`, to, subject: `Re: ${subject}`.trim(), text, thread }
      return sendOfAgent(deps, agentId, mail, signal)
    },
  })
}

export function welcomeMailJob(deps: Base & { agentMail: AgentMail; mailer: Mailer }): JobKind {
  return defineJob({
    kind: WELCOME_JOB,
    payload: z.object({ agentId: z.string(), personId: z.string() }),
    run: ({ agentId, personId: to }, signal) => {
      const text = 'You can write to me now. Please send your mail again.\n'
      const mail = {
        id: `welcome-${deps.clock.now().getTime()}`,
        to,
        subject: 'You can write to me now',
        text,
        thread: null,
      }
      return sendOfAgent(deps, agentId, mail, signal)
    },
  })
}

type Written = {
  id: string
  to: string
  subject: string
  text: string
  thread: { messageId: string | null; references: string[] } | null
}

async function sendOfAgent(
  deps: { db: Db; agentMail: AgentMail; mailer: Mailer },
  agentId: string,
  written: Written,
  signal: AbortSignal,
): Promise<void> {
  const agent = deps.db.select({ name: agents.name }).from(agents).where(eq(agents.id, agentId)).get()
  if (!agent || !findOpenChannel(deps.db, agentId, 'mail')) return
  await deps.mailer.send(compose(deps, { agentId, name: agent.name }, written), signal)
}

/** @throws AppError `unavailable` when the operator has removed the agents' mail address. */
function compose(
  { agentMail }: { agentMail: AgentMail },
  { agentId, name }: { agentId: string; name: string },
  { id, to, subject, text, thread }: Written,
): Mail {
  const address = toAgentAddress(agentMail, agentId)
  if (address === null) throw new AppError('unavailable', 'AGENT_MAIL_ADDRESS is not set', { code: 'NOT_CONFIGURED' })
  const domain = address.slice(address.indexOf('@') + 1)
  const reply: MailReply = {
    from: { name, address },
    messageId: `<${id}@${domain}>`,
    inReplyTo: thread?.messageId ?? null,
    references: thread ? [...thread.references, ...(thread.messageId === null ? [] : [thread.messageId])] : [],
  }
  return { to, subject, text, reply }
}
