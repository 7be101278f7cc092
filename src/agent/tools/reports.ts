import type { EarlyEnd } from '../../core/agents/collect-turn.ts'
import { errorMessage } from '../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { requestIdHeader } from '../../core/request-id.ts'

type ToolReport = { toolName: string; success: boolean; durationMs: number }

export type ToolReporter = (use: ToolReport) => void
/** Reports to the platform that a limit ended a turn, so that it notifies the owner. */
export type EarlyEndReporter = (end: EarlyEnd) => void

const TIMEOUT_MS = 10_000

/**
 * Reports tool calls and turns ended by a limit to the platform, in the background: a failed report is logged and
 * dropped.
 */
export function createReporters(
  settings: { platformUrl: string; platformToken: string },
  deps: { fetch: typeof fetch; log: Log },
): { reportTool: ToolReporter; reportEarlyEnd: EarlyEndReporter } {
  const report = (path: string, body: object) => {
    send(settings, deps.fetch, path, body).catch((error) =>
      deps.log.warn({ path, error: errorMessage(error) }, 'failed to report an event of a turn'),
    )
  }
  return {
    reportTool: ({ toolName, success, durationMs }) =>
      report('/v1/tool-events', {
        events: [{ tool_name: toolName, success, duration_ms: Math.round(durationMs) }],
      }),
    reportEarlyEnd(end) {
      // The platform does not know an agent that uses its owner's API key.
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
