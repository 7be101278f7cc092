import { z } from 'zod'
import { type CountedKind, FILE_TOOLS, MESSAGE_TOOLS } from '../../core/agents/day-limits.ts'
import { AppError } from '../../core/errors.ts'
import type { PlatformCall } from '../platform.ts'
import type { Approvals } from './approvals.ts'

/** Code of the error at a daily limit. */
export const LIMIT_REACHED = 'DAY_LIMIT_REACHED'

const Used = z.object({ allowed: z.boolean(), message: z.string().nullable(), approvalId: z.string().nullable() })

/**
 * Counts the next action of the agent, and waits for the owner when a daily limit is set to ask.
 * @throws AppError `limited` DAY_LIMIT_REACHED beyond a limit; the platform's errors.
 */
export type CountUse = (kinds: readonly CountedKind[], signal: AbortSignal) => Promise<void>

export function createUseCounter(call: PlatformCall, approvals: Pick<Approvals, 'waitFor'>): CountUse {
  const count = async (kinds: readonly CountedKind[], signal: AbortSignal) => {
    try {
      return await call(Used, { path: '/v1/limits/use', method: 'POST', body: { kinds }, signal })
    } catch (error) {
      // Older platforms have no daily limits, and an owner's key has none.
      if (error instanceof AppError && error.kind === 'not_found') return null
      throw error
    }
  }
  return async (kinds, signal) => {
    let used = await count(kinds, signal)
    if (used?.approvalId && (await approvals.waitFor(used.approvalId, signal))) used = await count(kinds, signal)
    if (used === null || used.allowed) return
    const waits = used.approvalId ? ' The question still waits for them.' : ''
    const message = `${used.message ?? 'Daily limit reached.'}${waits} Do not try another way.`
    throw new AppError('limited', message, { code: LIMIT_REACHED })
  }
}

/** Returns the daily limits that a tool call counts towards. */
export function countedKinds(tool: string, input: unknown): CountedKind[] {
  const isListing = tool === 'send_message' && z.object({ action: z.literal('list') }).safeParse(input).success
  return [
    'toolCalls',
    ...(FILE_TOOLS.has(tool) ? (['files'] as const) : []),
    ...(MESSAGE_TOOLS.has(tool) && !isListing ? (['messages'] as const) : []),
  ]
}
