import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import type { AgentChatRequest, AgentGateway } from '../../../adapters/gateways/gateway.ts'
import { type AgentEndpoint, KeptFailure } from '../../../adapters/gateways/http.ts'
import { type CollectedTurn, collectTurn, type TurnFigures } from '../../../core/agents/collect-turn.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import { findOpenChannel } from '../../agents/channels/channels.ts'
import { type AgentRow, agents } from '../../agents/registry/tables.ts'
import type { ReachDeps } from '../../ai/breakers/reach-limit.ts'
import type { Base } from '../../base.ts'
import { recordChannelAnswer } from '../chat/channels/record.ts'
import { requireEndpoint } from '../chat/turns/ask.ts'
import { putAnswerOnItsWay } from './answer.ts'
import { DELIVER_MAIL_JOB, toMailSession } from './receive.ts'
import { type InboxRow, inboxMessages, type MailFile } from './tables.ts'

/** About three hours, so a stopped agent still gets its mail. */
const MAX_ATTEMPTS = 40
const MAX_REPLY_CHARACTERS = 20_000

const MailJob = z.object({ id: z.string() })

/** Reply to the sender when the agent stopped during an answer that must not be repeated. */
const INTERRUPTED = 'I was interrupted before I had answered. Please send your mail again.'

/** Delivers mail to agents. A built-in agent answers each mail once, even if it is delivered again. */
export function deliverMailJob(deps: Base & ReachDeps & { gateway: Pick<AgentGateway, 'streamTurn'> }): JobKind {
  return defineJob({
    kind: DELIVER_MAIL_JOB,
    payload: MailJob,
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: ({ id }, signal) => deliverMail(deps, id, signal),
    onDead: ({ id }, error) => giveUp(deps, id, error),
  })
}

/** @throws AppError when the agent does not run or does not answer. */
async function deliverMail(
  deps: Base & ReachDeps & { gateway: Pick<AgentGateway, 'streamTurn'> },
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const found = findQueued(deps.db, id)
  if (!found) return
  const { mail, agent } = found
  const endpoint = requireEndpoint(deps.sealer, agent)
  const isAnswered = findOpenChannel(deps.db, agent.id, 'mail') !== null
  const images = mail.files.flatMap(({ path, mediaType }) => (path && mediaType.startsWith('image/') ? [path] : []))
  const message = toMessage(mail, isAnswered)
  const request = { sessionKey: toMailSession(mail, isAnswered), message, images, turnId: mail.id }
  const collected = collectTurn()
  const outcome = await ask(deps, { endpoint, request, collected }, signal)
  await write(deps.db, (tx) => {
    noteDelivered(tx, deps, { ...mail, ...outcome, deliveredAt: deps.clock.now() })
    recordOutcome(deps, tx, { agent, id, outcome, figures: collected.figures() })
  })
}

function findQueued(db: Db | Tx, id: string) {
  return db
    .select({ mail: inboxMessages, agent: agents })
    .from(inboxMessages)
    .innerJoin(agents, eq(agents.id, inboxMessages.agentId))
    .where(and(eq(inboxMessages.id, id), eq(inboxMessages.status, 'queued')))
    .get()
}

function noteDelivered(tx: Tx, deps: Base & ReachDeps, delivered: InboxRow): void {
  const { id, status, reply, error, deliveredAt } = delivered
  const change = { status, reply, error, deliveredAt, ...putAnswerOnItsWay(deps, tx, delivered) }
  tx.update(inboxMessages).set(change).where(eq(inboxMessages.id, id)).run()
}

type Outcome = Pick<InboxRow, 'status' | 'reply' | 'error'>

function recordOutcome(
  deps: { clock: Clock },
  tx: Tx,
  { agent, id, outcome, figures }: { agent: AgentRow; id: string; outcome: Outcome; figures: TurnFigures },
): void {
  const { status, reply, error } = outcome
  recordChannelAnswer(deps, tx, agent, {
    ...figures,
    questionId: id,
    content: reply ?? '',
    status: status === 'failed' ? 'failed' : 'sent',
    error: error === null ? null : { kind: 'upstream_failed', message: error },
    at: deps.clock.now(),
  })
}

type Asked = { endpoint: AgentEndpoint; request: AgentChatRequest; collected: CollectedTurn }

async function ask(
  { gateway }: { gateway: Pick<AgentGateway, 'streamTurn'> },
  { endpoint, request, collected }: Asked,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    for await (const event of gateway.streamTurn(endpoint, request, signal)) collected.add(event)
  } catch (error) {
    if (error instanceof KeptFailure) return { status: 'failed', reply: INTERRUPTED, error: error.message }
    if (!(error instanceof AppError) || error.extra.code !== 'TURN_INTERRUPTED') throw error
    return { status: 'failed', reply: INTERRUPTED, error: 'The agent ended in the middle of its answer' }
  }
  return { status: 'delivered', reply: collected.text().slice(0, MAX_REPLY_CHARACTERS), error: null }
}

/** The agent learns that the text comes from outside. */
function toMessage({ sender, subject, text, files, automatic }: InboxRow, isAnswered: boolean): string {
  const isSent = isAnswered && automatic === null
  const head = `An e-mail has arrived in your inbox. ${isSent ? 'What you say now is sent to its sender as an e-mail, as it stands. ' : ''}What follows was written by its sender.`
  const written = `From: ${sender}\nSubject: ${subject}\n\n${text}`
  return [head, written, ...files.map(toNote)].join('\n\n')
}

function toNote({ name, path, textPath, mediaType, sizeBytes, problem }: MailFile): string {
  if (path === null) return `[Attached file ${name}, which was not kept: ${problem}]`
  const text = textPath === null || textPath === path ? '' : `; its text is at ${textPath}`
  return `[Attached file, in your workspace at ${path}: ${mediaType}, ${sizeBytes} bytes${text}]`
}

async function giveUp(deps: Base, id: string, error: unknown): Promise<void> {
  const reason = error instanceof AppError ? error.message : 'The agent could not be reached'
  const outcome = { status: 'failed', reply: null, error: reason } as const
  await write(deps.db, (tx) => {
    const found = findQueued(tx, id)
    tx.update(inboxMessages).set(outcome).where(eq(inboxMessages.id, id)).run()
    if (found) recordOutcome(deps, tx, { agent: found.agent, id, outcome, figures: collectTurn().figures() })
  })
}
