import { and, eq, inArray } from 'drizzle-orm'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import { defineJob, type Enqueue, type JobKind } from '../../../jobs/queue.ts'
import { type AccountRules, createUserFinder } from '../../accounts/users/users.ts'
import { type ChatDeps, openTurn, sendMessage } from '../chat/send.ts'
import { messages } from '../chat/tables.ts'
import { onceOf } from '../chat/turns/idempotency.ts'
import { listAnswers } from './runs.ts'
import { ASK_MEMBER_JOB } from './start-run.ts'
import { type AnswerRow, type SwarmRunRow, swarmAnswers, swarmRuns } from './tables.ts'

export const SUMMARIZE_JOB = 'swarms.summarize'

/** Longest stored answer, and the part that the summarizer gets: ten of them fit into one message. */
const MAX_REPLY_LENGTH = 100_000
const MAX_QUOTED_LENGTH = 7000
/** Delay until a cancelled run interrupts its agents. */
const CANCEL_CHECK_MS = 500

type AskMemberDeps = ChatDeps & { enqueue: Enqueue; rules: AccountRules }
type AnswerKey = { runId: string; agentId: string }
type Outcome = Pick<AnswerRow, 'state'> & Partial<Pick<AnswerRow, 'reply' | 'error' | 'errorKind'>>

/**
 * Sends an agent the task in its owner's name and stores the answer or the error. After a crash the job runs again and
 * asks only if there is no answer yet. When the server stops, the next start continues.
 */
async function askMember(deps: AskMemberDeps, key: AnswerKey, signal: AbortSignal): Promise<void> {
  const begun = await write(deps.db, (tx) => beginAnswer(tx, deps, key))
  if (!begun) return
  const { run, answer } = begun
  const outcome = await ask(deps, run, { ...answer, topic: `swarm:${run.id}` }, signal)
  await write(deps.db, (tx) => settleAnswer(tx, deps, key, outcome))
}

/** Records that the job has failed permanently. */
async function giveAnswerUp(deps: AskMemberDeps, key: AnswerKey): Promise<void> {
  const outcome: Outcome = { state: 'failed', error: 'The task was given up', errorKind: 'internal' }
  await write(deps.db, (tx) => settleAnswer(tx, deps, key, outcome))
}

async function summarizeRun(deps: AskMemberDeps, runId: string, signal: AbortSignal): Promise<void> {
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

/** Records that the job has failed permanently. */
async function giveSummaryUp(deps: AskMemberDeps, runId: string): Promise<void> {
  await write(deps.db, (tx) => finishRun(tx, deps, runId, { summary: null, summaryError: 'The summary was given up' }))
}

function beginAnswer(tx: Tx, { clock }: AskMemberDeps, key: AnswerKey): { run: SwarmRunRow; answer: AnswerRow } | null {
  const run = findRunning(tx, key.runId)
  const isOpen = and(isAnswer(key), inArray(swarmAnswers.state, ['queued', 'running']))
  const before = run && tx.select().from(swarmAnswers).where(isOpen).get()
  if (!run || !before) return null
  const startedAt = before.startedAt ?? clock.now()
  const answer = tx.update(swarmAnswers).set({ state: 'running', startedAt }).where(isOpen).returning().get()
  return { run, answer }
}

/**
 * Asks an agent.
 * @returns the answer or the error.
 * @throws the signal's reason, and errors other than AppError: the job is then retried.
 */
async function ask(
  deps: AskMemberDeps,
  run: SwarmRunRow,
  question: { agentId: string; message: string; topic: string },
  signal: AbortSignal,
): Promise<Outcome> {
  const known = findReply(deps.db, run.ownerId, question)
  if (known !== null) return { state: 'completed', reply: known.slice(0, MAX_REPLY_LENGTH) }
  const watch = watchForCancel(deps.db, run.id)
  try {
    const user = createUserFinder(deps.db, deps.rules)(run.ownerId)
    if (!user) throw new AppError('forbidden', 'The account is closed')
    // A separate conversation keeps swarm tasks out of the owner's conversations.
    const turn = await openTurn(deps, user, question, {
      sessionKey: `user:${user.id}:swarm:${run.swarmId}`,
      // The turn continues after a crash without this job.
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

/** Returns the answer of an agent that answered before a crash. */
function findReply(db: Db, userId: string, { agentId, topic }: { agentId: string; topic: string }): string | null {
  const isReply = and(
    eq(messages.userId, userId),
    eq(messages.agentId, agentId),
    eq(messages.topic, topic),
    eq(messages.sender, 'agent'),
  )
  return db.select({ content: messages.content }).from(messages).where(isReply).get()?.content ?? null
}

/** Aborts soon after the run has ended, whichever process ended it. */
function watchForCancel(db: Db, runId: string) {
  const cancel = new AbortController()
  const timer = setInterval(() => {
    if (!findRunning(db, runId)) cancel.abort(new AppError('conflict', 'The run was cancelled'))
  }, CANCEL_CHECK_MS)
  return { signal: cancel.signal, stop: () => clearInterval(timer) }
}

/** Stores an outcome unless the run was cancelled; the last one ends the run or starts its summary. */
function settleAnswer(tx: Tx, deps: AskMemberDeps, key: AnswerKey, outcome: Outcome): void {
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

function finishRun(
  tx: Tx,
  deps: AskMemberDeps,
  runId: string,
  end: Pick<SwarmRunRow, 'summary' | 'summaryError'>,
): void {
  const completed = listAnswers(tx, runId).map(({ state }) => state === 'completed')
  const isWhole = completed.every(Boolean) && end.summaryError === null
  const state = isWhole ? 'completed' : completed.some(Boolean) ? 'partially_failed' : 'failed'
  tx.update(swarmRuns)
    .set({ ...end, state, finishedAt: deps.clock.now() })
    .where(and(eq(swarmRuns.id, runId), eq(swarmRuns.state, 'running')))
    .run()
}

function findRunning(db: Db | Tx, runId: string): SwarmRunRow | undefined {
  return db
    .select()
    .from(swarmRuns)
    .where(and(eq(swarmRuns.id, runId), eq(swarmRuns.state, 'running')))
    .get()
}

function isAnswer({ runId, agentId }: AnswerKey) {
  return and(eq(swarmAnswers.runId, runId), eq(swarmAnswers.agentId, agentId))
}

function toSummaryMessage(db: Db, run: SwarmRunRow): string {
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

const MAX_ATTEMPTS = 3

export function askJob(deps: AskMemberDeps): JobKind {
  return defineJob({
    kind: ASK_MEMBER_JOB,
    payload: z.object({ runId: z.string(), agentId: z.string() }),
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: (key, signal) => askMember(deps, key, signal),
    onDead: (key) => giveAnswerUp(deps, key),
  })
}

export function summarizeJob(deps: AskMemberDeps): JobKind {
  return defineJob({
    kind: SUMMARIZE_JOB,
    payload: z.object({ runId: z.string() }),
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: ({ runId }, signal) => summarizeRun(deps, runId, signal),
    onDead: ({ runId }) => giveSummaryUp(deps, runId),
  })
}
