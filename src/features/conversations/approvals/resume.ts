import { eq } from 'drizzle-orm'
import { z } from 'zod'
import type { Tx } from '../../../db/open.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import { type AccountRules, createUserFinder } from '../../accounts/users/users.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import { openTurn, type SendDeps, sendMessage } from '../chat/send.ts'
import { statusOf } from './list.ts'
import { type ApprovalRow, approvals } from './tables.ts'

const RESUME_JOB = 'approvals.resume'
/** An agent whose turn still waits looks more often than that, and has used its approval by then. */
const RESUME_AFTER_MS = 40_000
const ATTEMPTS = 4

const Resume = z.object({ id: z.string() })

export type ResumeDeps = SendDeps & { rules: AccountRules }

/** Asks for what follows when nobody waits for the answer any more, in the closure of the decision. */
export function enqueueResume(tx: Tx, enqueue: Enqueue, { id, agentId }: ApprovalRow): void {
  const { ownerId } = getAgent(tx, { kind: 'operator' }, agentId)
  enqueue(tx, RESUME_JOB, { id }, { delayMs: RESUME_AFTER_MS, share: ownerId })
}

/** Tells an agent whose turn has ended meanwhile, or that was started again, that it may go on. */
export function resumeJob(deps: ResumeDeps): JobKind {
  return defineJob({
    kind: RESUME_JOB,
    payload: Resume,
    maxAttempts: ATTEMPTS,
    isSlow: true,
    run: ({ id }, signal) => resumeAgent(deps, id, signal),
  })
}

/** Nothing for an approval that was used or has expired. @throws AppError when the agent does not run or does not answer. */
export async function resumeAgent(deps: ResumeDeps, id: string, signal: AbortSignal): Promise<void> {
  const found = deps.db
    .select({ approval: approvals, ownerId: agents.ownerId })
    .from(approvals)
    .innerJoin(agents, eq(agents.id, approvals.agentId))
    .where(eq(approvals.id, id))
    .get()
  if (!found?.ownerId || statusOf(found.approval, deps.clock.now()) !== 'approved') return
  const owner = createUserFinder(deps.db, deps.rules)(found.ownerId)
  if (!owner) return
  const { agentId, session, tool, arguments: json } = found.approval
  const message = `I have approved what you asked for: ${tool} with ${json}. If it is still wanted, do it now with exactly these arguments.`
  const place = session === null ? {} : { sessionKey: session }
  await sendMessage(deps, await openTurn(deps, owner, { agentId, message }, place), signal)
}
