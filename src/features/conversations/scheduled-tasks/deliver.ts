import { eq } from 'drizzle-orm'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { type AccountRules, createUserFinder } from '../../accounts/users/users.ts'
import { openTurn, type SendDeps, sendMessage } from '../chat/send.ts'
import { chatTurns } from '../chat/tables.ts'
import { findMessage } from '../chat/turns/store.ts'
import { type AdmitDeps, findRun, finishRun, type RunJob } from './runs.ts'
import { type RunRow, scheduledRuns } from './tables.ts'

/** What the system and Bun say when nobody listens: then the agent has seen nothing. */
const NOBODY_THERE = new Set(['ConnectionRefused', 'ECONNREFUSED', 'FailedToOpenSocket', 'ENOTFOUND', 'EHOSTUNREACH'])
const INTERRUPTED = 'Interrupted after the prompt was sent: whether the agent acted on it is not known'

export type DeliverDeps = SendDeps & AdmitDeps & { rules: AccountRules }

/**
 * Sends the prompt of a run to its agent as its owner, so that it is stored and metered, and notes how that ended.
 * @throws what stopped it before the prompt reached the agent and may pass: then the same run may be tried again.
 */
export async function deliverRun(deps: DeliverDeps, job: RunJob, signal: AbortSignal): Promise<void> {
  const run = findRun(deps.db, job.runId)
  // Its task was deleted meanwhile, or this is a second delivery of a job that was done.
  if (run?.status !== 'running') return
  signal.throwIfAborted()
  const error = run.messageId === null ? await send(deps, job, signal) : await goOn(deps, run.messageId, signal)
  await write(deps.db, (tx) => finishRun(deps, tx, job.runId, error))
}

/** Waits for the turn of a prompt that an earlier process has sent. @returns as `send`. */
async function goOn(deps: DeliverDeps, messageId: string, signal: AbortSignal): Promise<string | null> {
  const turn = deps.db.select().from(chatTurns).where(eq(chatTurns.questionId, messageId)).get()
  const question = turn && findMessage(deps.db, messageId)
  if (!question) return INTERRUPTED
  try {
    await sendMessage(deps, { turn, question, made: true }, signal)
    return null
  } catch (error) {
    return signal.aborted && error === signal.reason ? INTERRUPTED : errorMessage(error)
  }
}

/** Null when the agent answered, otherwise what went wrong. */
async function send(deps: DeliverDeps, job: RunJob, signal: AbortSignal): Promise<string | null> {
  try {
    const owner = createUserFinder(deps.db, deps.rules)(job.ownerId)
    if (!owner) return 'The account is closed'
    const turn = await openTurn(deps, owner, { agentId: job.agentId, message: job.prompt, topic: job.topic })
    await note(deps, job.runId, { messageId: turn.question.id })
    await sendMessage(deps, turn, signal)
    return null
  } catch (error) {
    if (signal.aborted && error === signal.reason) return INTERRUPTED
    if (!isUnsent(error)) return errorMessage(error)
    await note(deps, job.runId, { messageId: null, error: errorMessage(error) })
    throw error
  }
}

async function note(deps: DeliverDeps, runId: string, change: Partial<RunRow>): Promise<void> {
  await write(deps.db, (tx) => tx.update(scheduledRuns).set(change).where(eq(scheduledRuns.id, runId)).run())
}

function isUnsent(error: unknown): boolean {
  if (!(error instanceof AppError) || error.kind !== 'unavailable') return false
  if (error.extra.code === 'WAKE_FAILED') return true
  const { cause } = error
  return cause instanceof Error && 'code' in cause && NOBODY_THERE.has(String(cause.code))
}
