import { eq } from 'drizzle-orm'
import { AppError, errorMessage } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import type { RepeatingJob } from '../../../jobs/runner.ts'
import type { SendNotice } from '../../accounts/notifications/send-notice.ts'
import { type AccountRules, createUserFinder } from '../../accounts/users/users.ts'
import type { Base } from '../../base.ts'
import { type ChatDeps, openTurn, sendMessage } from '../chat/send.ts'
import { chatTurns } from '../chat/tables.ts'
import { findMessage } from '../chat/turns/store.ts'
import { replanTasks, startDueTasks } from './due.ts'
import { findRun, finishRun, RUN_JOB, RunJob } from './runs.ts'
import { scheduledRuns, type TaskRunRow } from './tables.ts'

const CHECK_MS = 5000
/** Attempts while an agent restarts, with the queue's pauses. */
const ATTEMPTS = 4
/** Time synchronization adjusts clocks by less than this. */
const TOLERATED_MS = 60_000

export function scheduledTasksJob(deps: Base): RepeatingJob {
  let checkedAt = Number.POSITIVE_INFINITY
  return {
    name: 'scheduled-tasks.due',
    everyMs: CHECK_MS,
    async run(signal) {
      const now = deps.clock.now().getTime()
      if (now < checkedAt - TOLERATED_MS) await replanTasks(deps, signal)
      checkedAt = now
      await startDueTasks(deps, signal)
    },
  }
}

/** Delivers the prompt of a task or heartbeat. Retried only if nothing reached the agent. */
export function scheduledRunJob(deps: DeliverDeps): JobKind {
  return defineJob({
    kind: RUN_JOB,
    payload: RunJob,
    maxAttempts: ATTEMPTS,
    isSlow: true,
    run: (job, signal) => deliverRun(deps, job, signal),
    onDead: async ({ runId }, error) => {
      await write(deps.db, (tx) => finishRun(deps, tx, runId, error instanceof Error ? error.message : String(error)))
    },
  })
}

/**
 * Error codes of the system and of Bun for a connection that was never established: the agent has not received the
 * prompt.
 */
const NEVER_CONNECTED = new Set([
  'ConnectionRefused',
  'ECONNREFUSED',
  'FailedToOpenSocket',
  'ENOTFOUND',
  'EHOSTUNREACH',
])
const INTERRUPTED = 'Interrupted after the prompt was sent: whether the agent acted on it is not known'

type DeliverDeps = ChatDeps & Base & { sendNotice: SendNotice; rules: AccountRules }

/**
 * Sends the prompt of a run to its agent as its owner, so that it is stored and metered, and records the outcome.
 * @throws a temporary error that occurred before the prompt reached the agent: the same run can be retried.
 */
async function deliverRun(deps: DeliverDeps, job: RunJob, signal: AbortSignal): Promise<void> {
  const run = findRun(deps.db, job.runId)
  // The task was deleted, or the job was delivered twice.
  if (run?.status !== 'running') return
  signal.throwIfAborted()
  const error = run.messageId === null ? await send(deps, job, signal) : await goOn(deps, run.messageId, signal)
  await write(deps.db, (tx) => finishRun(deps, tx, job.runId, error))
}

/** Waits for the turn of a prompt that an earlier run sent. @returns as `send`. */
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

/** Returns null when the agent answered, else the error message. */
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

async function note(deps: DeliverDeps, runId: string, change: Partial<TaskRunRow>): Promise<void> {
  await write(deps.db, (tx) => tx.update(scheduledRuns).set(change).where(eq(scheduledRuns.id, runId)).run())
}

function isUnsent(error: unknown): boolean {
  if (!(error instanceof AppError) || error.kind !== 'unavailable') return false
  if (error.extra.code === 'WAKE_FAILED') return true
  const { cause } = error
  return cause instanceof Error && 'code' in cause && NEVER_CONNECTED.has(String(cause.code))
}
