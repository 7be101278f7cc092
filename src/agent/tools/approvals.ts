import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import type { Questions } from '../channels/questions.ts'
import type { PlatformCall } from '../platform.ts'

/** Long-polling timeout while an approval is pending. */
const LOOK_SECONDS = 25
const SLACK_MS = 10_000

const Asked = z.object({
  id: z.string(),
  status: z.enum(['waiting', 'approved', 'denied', 'expired', 'used']),
  // Missing in answers of older platforms.
  page: z.string().optional(),
  dashboardOnly: z.boolean().default(false),
})
type Asked = z.infer<typeof Asked>

/** A request for approval: `json` is shown to the owner, and only exactly this input is executed. */
export type ApprovalQuestion = { tool: string; json: string; sessionKey: string | null }

export type Approvals = {
  /**
   * Waits for the owner.
   * @returns the approval's id.
   * @throws AppError `forbidden` when it was denied or not answered in time.
   */
  ask(question: ApprovalQuestion, signal: AbortSignal): Promise<string>
  /** Uses up an approval before its action runs. @throws AppError `conflict` when it is no longer valid. */
  claim(id: string, question: ApprovalQuestion, signal: AbortSignal): Promise<void>
  /** Waits for the owner's decision on a request of the platform. @returns whether it was approved. */
  waitFor(id: string, signal: AbortSignal): Promise<boolean>
  /** Lists tools for which turns of a session wait for approval. */
  listWaiting(sessionKey: string): string[]
}

/**
 * Asks the owner through the platform, which stores the request: a restarted agent finds it again. A turn waits for at
 * most `waitMs`.
 */
export function createApprovals(
  call: PlatformCall,
  waitMs: number,
  questions: Pick<Questions, 'put' | 'settle'>,
): Approvals {
  const ask = ({ tool, json, sessionKey }: ApprovalQuestion, signal: AbortSignal) => {
    const body = { tool, arguments: json, ...(sessionKey !== null && { session: sessionKey }) }
    return call(Asked, { path: '/v1/approvals', method: 'POST', body, signal })
  }
  const look = async (asked: Asked, leftMs: number, signal: AbortSignal) => {
    const seconds = Math.min(LOOK_SECONDS, leftMs / 1000)
    const path = `/v1/approvals/${asked.id}`
    const timeoutMs = seconds * 1000 + SLACK_MS
    try {
      return await call(Asked, { path, query: { wait: String(seconds) }, timeoutMs, signal })
    } catch (error) {
      signal.throwIfAborted()
      // The request survives a platform restart that outlasts one call.
      if (error instanceof AppError && error.kind.startsWith('upstream_')) return asked
      throw error
    }
  }
  const waiting = new Set<ApprovalQuestion>()
  const untilDecided = async (begun: Asked, signal: AbortSignal) => {
    const endsAt = performance.now() + waitMs
    let asked = begun
    for (;;) {
      const leftMs = endsAt - performance.now()
      if (asked.status !== 'waiting' || leftMs <= 0) return asked
      asked = await look(asked, leftMs, signal)
    }
  }
  const wait = async (question: ApprovalQuestion, signal: AbortSignal) => {
    const begun = await ask(question, signal)
    if (begun.status === 'waiting') questions.put({ ...question, ...begun })
    const asked = await untilDecided(begun, signal)
    questions.settle(asked.id, asked.status)
    if (asked.status === 'approved') return asked.id
    throw new AppError('forbidden', describe(asked))
  }
  return {
    listWaiting: (sessionKey) => [...waiting].filter((one) => one.sessionKey === sessionKey).map(({ tool }) => tool),
    async waitFor(id, signal) {
      const { status } = await untilDecided({ id, status: 'waiting', dashboardOnly: true }, signal)
      return status === 'approved' || status === 'used'
    },
    async ask(question, signal) {
      waiting.add(question)
      try {
        return await wait(question, signal)
      } finally {
        waiting.delete(question)
      }
    },
    async claim(id, { tool, json }, signal) {
      const body = { tool, arguments: json }
      await call(Asked, { path: `/v1/approvals/${id}/use`, method: 'POST', body, signal, isOnce: true })
    },
  }
}

function describe({ status }: Asked): string {
  if (status === 'waiting') {
    return 'Your owner has not answered yet, and the question still waits for them. Tell them so and do not try another way. Once they have approved it, call this tool again with exactly the same arguments.'
  }
  const why = status === 'denied' ? 'Your owner has denied it.' : 'Your owner did not answer in time, so it is denied.'
  return `${why} Do not try another way to do the same.`
}
