import { z } from 'zod'
import { defineJob, type JobKind } from '../../../jobs/queue.ts'
import { type AskDeps, askAgent, giveAnswerUp, giveSummaryUp, SUMMARIZE_JOB, summarizeRun } from './ask.ts'
import { ASK_JOB } from './start-run.ts'

const MAX_ATTEMPTS = 3

export function askJob(deps: AskDeps): JobKind {
  return defineJob({
    kind: ASK_JOB,
    payload: z.object({ runId: z.string(), agentId: z.string() }),
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: (key, signal) => askAgent(deps, key, signal),
    onDead: (key) => giveAnswerUp(deps, key),
  })
}

export function summarizeJob(deps: AskDeps): JobKind {
  return defineJob({
    kind: SUMMARIZE_JOB,
    payload: z.object({ runId: z.string() }),
    maxAttempts: MAX_ATTEMPTS,
    isSlow: true,
    run: ({ runId }, signal) => summarizeRun(deps, runId, signal),
    onDead: ({ runId }) => giveSummaryUp(deps, runId),
  })
}
