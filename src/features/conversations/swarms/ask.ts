import { and, eq, inArray } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { type AccountRules, createUserFinder } from '../../accounts/users/users.ts'
import { openTurn, type SendDeps, sendMessage } from '../chat/send.ts'
import { messages } from '../chat/tables.ts'
import { onceOf } from '../chat/turns/once.ts'
import { listAnswers } from './runs.ts'
import { type AnswerRow, type RunRow, swarmAnswers, swarmRuns } from './tables.ts'

/** Lets the summarizer of a run answer; `jobs.ts` does it. */
export const SUMMARIZE_JOB = 'swarms.summarize'

/** How much of an answer is kept with the run, and how much of it the summarizer is given: ten fit into a message. */
const MAX_REPLY_LENGTH = 100_000
const MAX_QUOTED_LENGTH = 7000
/** How soon an agent is interrupted after its run has been cancelled. */
const CANCEL_CHECK_MS = 500

export type AskDeps = SendDeps & { enqueue: Enqueue; rules: AccountRules }
type AnswerKey = { runId: string; agentId: string }
type Outcome = Pick<AnswerRow, 'state'> & Partial<Pick<AnswerRow, 'reply' | 'error' | 'errorKind'>>

/**
 * Sends an agent its part of the task, in its owner's name, and keeps what it answers; what goes wrong is kept as well.
 * Run again after a crash it asks again, unless the answer had come. A stop of the server leaves it for the next start.
 */
export async function askAgent(deps: AskDeps, key: AnswerKey, signal: AbortSignal): Promise<void> {
  const begun = await write(deps.db, (tx) => beginAnswer(tx, deps, key))
  if (!begun) return
  const { run, answer } = begun
  const outcome = await ask(deps, run, { ...answer, topic: `swarm:${run.id}` }, signal)
  await write(deps.db, (tx) => settleAnswer(tx, deps, key, outcome))
}

/** For a job that was given up. */
export async function giveAnswerUp(deps: AskDeps, key: AnswerKey): Promise<void> {
  const outcome: Outcome = { state: 'failed', error: 'The task was given up', errorKind: 'internal' }
  await write(deps.db, (tx) => settleAnswer(tx, deps, key, outcome))
}

/** Lets the summarizer sum up the answers that there are, which ends the run. */
export async function summarizeRun(deps: AskDeps, runId: string, signal: AbortSignal): Promise<void> {
  const run = findRunning(deps.db, runId)
  if (!run?.summarizer) return
  const question = {
    agentId: run.summarizer,
    message: toSummaryMessage(deps.db, run),
    topic: `swarm:${run.id}:summary`,
  }
  const { reply, error } = await ask(deps, run, question, signal)
  await write(deps.db, (tx) => finishRun(tx, deps, runId, { summary: reply ?? null, summaryError: error ?? null }))
}

/** For a job that was given up. */
export async function giveSummaryUp(deps: AskDeps, runId: string): Promise<void> {
  await write(deps.db, (tx) => finishRun(tx, deps, runId, { summary: null, summaryError: 'The summary was given up' }))
}

function beginAnswer(tx: Tx, { clock }: AskDeps, key: AnswerKey): { run: RunRow; answer: AnswerRow } | null {
  const run = findRunning(tx, key.runId)
  const isOpen = and(isAnswer(key), inArray(swarmAnswers.state, ['queued', 'running']))
  const before = run && tx.select().from(swarmAnswers).where(isOpen).get()
  if (!run || !before) return null
  const startedAt = before.startedAt ?? clock.now()
  const answer = tx.update(swarmAnswers).set({ state: 'running', startedAt }).where(isOpen).returning().get()
  return { run, answer }
}

/** Asks and tells what came of it. @throws the signal's reason, and what is no AppError: then the job is tried again. */
async function ask(
  deps: AskDeps,
  run: RunRow,
  question: { agentId: string; message: string; topic: string },
  signal: AbortSignal,
): Promise<Outcome> {
  const known = findReply(deps.db, run.ownerId, question)
  if (known !== null) return { state: 'completed', reply: known.slice(0, MAX_REPLY_LENGTH) }
  const watch = watchForCancel(deps.db, run.id)
  try {
    const user = createUserFinder(deps.db, deps.rules)(run.ownerId)
    if (!user) throw new AppError('forbidden', 'The account is closed')
    // A conversation of its own: what swarms are told stays out of the owner's.
    const turn = await openTurn(deps, user, question, {
      sessionKey: `user:${user.id}:swarm:${run.swarmId}`,
      // After a crash the turn goes on by itself.
      once: onceOf(`${question.topic}:${question.agentId}`),
    })
    const { reply } = await sendMessage(deps, turn, AbortSignal.any([signal, watch.signal]))
    return { state: 'completed', reply: reply.slice(0, MAX_REPLY_LENGTH) }
  } catch (error) {
    if (signal.aborted || !(error instanceof AppError)) throw error
    return { state: 'failed', error: error.message, errorKind: error.kind }
  } finally {
    watch.stop()
  }
}

/** The answer of an agent that was asked before a crash and had answered. */
function findReply(db: Db, userId: string, { agentId, topic }: { agentId: string; topic: string }): string | null {
  const isReply = and(
    eq(messages.userId, userId),
    eq(messages.agentId, agentId),
    eq(messages.topic, topic),
    eq(messages.sender, 'agent'),
  )
  return db.select({ content: messages.content }).from(messages).where(isReply).get()?.content ?? null
}

/** Aborts soon after the run is no longer running, whichever process ended it. */
function watchForCancel(db: Db, runId: string) {
  const cancel = new AbortController()
  const timer = setInterval(() => {
    if (!findRunning(db, runId)) cancel.abort(new AppError('conflict', 'The run was cancelled'))
  }, CANCEL_CHECK_MS)
  return { signal: cancel.signal, stop: () => clearInterval(timer) }
}

/** Keeps an outcome unless the run was cancelled meanwhile; the last one ends the run or leads to its summary. */
function settleAnswer(tx: Tx, deps: AskDeps, key: AnswerKey, outcome: Outcome): void {
  const { changes } = tx
    .update(swarmAnswers)
    .set({ ...outcome, finishedAt: deps.clock.now() })
    .where(and(isAnswer(key), inArray(swarmAnswers.state, ['queued', 'running'])))
    .run()
  const run = findRunning(tx, key.runId)
  if (changes === 0 || !run) return
  const states = listAnswers(tx, key.runId).map(({ state }) => state)
  if (states.includes('queued') || states.includes('running')) return
  if (run.summarizer && states.includes('completed')) {
    const options = { key: `swarm-summary:${run.id}`, share: run.ownerId }
    deps.enqueue(tx, SUMMARIZE_JOB, { runId: run.id }, options)
  } else finishRun(tx, deps, run.id, { summary: null, summaryError: null })
}

function finishRun(tx: Tx, deps: AskDeps, runId: string, end: Pick<RunRow, 'summary' | 'summaryError'>): void {
  const completed = listAnswers(tx, runId).map(({ state }) => state === 'completed')
  const isWhole = completed.every(Boolean) && end.summaryError === null
  const state = isWhole ? 'completed' : completed.some(Boolean) ? 'partially_failed' : 'failed'
  tx.update(swarmRuns)
    .set({ ...end, state, finishedAt: deps.clock.now() })
    .where(and(eq(swarmRuns.id, runId), eq(swarmRuns.state, 'running')))
    .run()
}

function findRunning(db: Db | Tx, runId: string): RunRow | undefined {
  return db
    .select()
    .from(swarmRuns)
    .where(and(eq(swarmRuns.id, runId), eq(swarmRuns.state, 'running')))
    .get()
}

function isAnswer({ runId, agentId }: AnswerKey) {
  return and(eq(swarmAnswers.runId, runId), eq(swarmAnswers.agentId, agentId))
}

function toSummaryMessage(db: Db, run: RunRow): string {
  const answers = listAnswers(db, run.id).map(({ agentName, reply, error }) =>
    reply === null ? `## ${agentName}\nNo answer: ${error}` : `## ${agentName}\n${reply.slice(0, MAX_QUOTED_LENGTH)}`,
  )
  return [
    'Several agents were given the same task. Sum up their answers for the person who gave it.',
    `# The task\n${run.task}`,
    '# The answers',
    ...answers,
  ].join('\n\n')
}
