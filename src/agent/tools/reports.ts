import type { EarlyEnd } from '../../core/agents/turn-limits.ts'
import { errorMessage } from '../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { requestIdHeader } from '../../core/request-id.ts'

/** One use of a tool. */
export type ToolUse = { toolName: string; success: boolean; durationMs: number }

export type ToolReporter = (use: ToolUse) => void
/** Tells the platform that a limit has ended a turn, so that the owner hears of it. */
export type EarlyEndReporter = (end: EarlyEnd) => void

const TIMEOUT_MS = 10_000

/**
 * Tells the platform of each use of a tool and of turns that a limit has ended, behind the turn's back: a report that does not
 * arrive is logged and given up.
 */
export function createReporters(
  settings: { platformUrl: string; platformToken: string },
  deps: { fetch: typeof fetch; log: Log },
): { reportTool: ToolReporter; reportEarlyEnd: EarlyEndReporter } {
  const report = (path: string, body: object) => {
    send(settings, deps.fetch, path, body).catch((error) =>
      deps.log.warn({ path, error: errorMessage(error) }, 'what happened in a turn could not be reported'),
    )
  }
  return {
    reportTool: ({ toolName, success, durationMs }) =>
      report('/v1/tool-events', {
        events: [{ tool_name: toolName, success, duration_ms: Math.round(durationMs) }],
      }),
    reportEarlyEnd(end) {
      // An agent that runs elsewhere with its owner's key is not known there.
      if (settings.platformToken.startsWith(AGENT_TOKEN_PREFIX)) report('/v1/turn-limits', end)
    },
  }
}

async function send(
  settings: { platformUrl: string; platformToken: string },
  plainFetch: typeof fetch,
  path: string,
  body: object,
): Promise<void> {
  const response = await plainFetch(`${settings.platformUrl}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${settings.platformToken}`,
      ...requestIdHeader(),
    },
    body: JSON.stringify(body),
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`the platform answered ${response.status}`)
}
