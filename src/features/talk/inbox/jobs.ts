import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import type { AgentGateway } from '../../../adapters/gateways/gateway.ts'
import type { Clock } from '../../../core/clock.ts'
import { AppError } from '../../../core/errors.ts'
import type { Sealer } from '../../../core/secrets.ts'
import type { Db } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import { agents } from '../../agents/registry/tables.ts'
import { requireEndpoint } from '../chat/endpoint.ts'
import { DELIVER_JOB } from './receive.ts'
import { type InboxRow, inboxMessages } from './tables.ts'

/** About three hours: an agent that is stopped for lunch still gets its mail. */
const MAX_ATTEMPTS = 40
const MAX_REPLY_CHARACTERS = 20_000

const MailJob = z.object({ id: z.string() })

export type DeliverDeps = { db: Db; clock: Clock; sealer: Sealer; gateway: Pick<AgentGateway, 'chat'> }

/** Gives mails to their agents: at least once, for an agent may have read one when the process died. */
export function deliverMailJob(deps: DeliverDeps): JobKind {
  return defineJob({
    kind: DELIVER_JOB,
    payload: MailJob,
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: ({ id }, signal) => deliverMail(deps, id, signal),
    onDead: ({ id }, error) => giveUp(deps, id, error),
  })
}

/** @throws AppError when the agent does not run or does not answer. */
async function deliverMail(deps: DeliverDeps, id: string, signal: AbortSignal): Promise<void> {
  const found = deps.db
    .select({ mail: inboxMessages, agent: agents })
    .from(inboxMessages)
    .innerJoin(agents, eq(agents.id, inboxMessages.agentId))
    .where(and(eq(inboxMessages.id, id), eq(inboxMessages.status, 'queued')))
    .get()
  if (!found) return
  const { mail, agent } = found
  const endpoint = requireEndpoint(deps.sealer, agent)
  const request = { sessionKey: `mail:${mail.sender}`.slice(0, 200), message: toMessage(mail) }
  const reply = await deps.gateway.chat(endpoint, request, signal)
  await setOutcome(deps, id, {
    status: 'delivered',
    reply: reply.slice(0, MAX_REPLY_CHARACTERS),
    deliveredAt: deps.clock.now(),
  })
}

/** What a mail says comes from outside: the agent is told so. */
function toMessage({ sender, subject, text }: InboxRow): string {
  return `An e-mail has arrived in your inbox. What follows was written by its sender.\n\nFrom: ${sender}\nSubject: ${subject}\n\n${text}`
}

async function giveUp(deps: DeliverDeps, id: string, error: unknown): Promise<void> {
  const reason = error instanceof AppError ? error.message : 'The agent could not be reached'
  await setOutcome(deps, id, { status: 'failed', error: reason })
}

async function setOutcome({ db }: DeliverDeps, id: string, outcome: Partial<InboxRow>): Promise<void> {
  await write(db, (tx) => tx.update(inboxMessages).set(outcome).where(eq(inboxMessages.id, id)).run())
}
