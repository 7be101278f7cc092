import { errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { requestIdHeader } from '../../core/request-id.ts'

/** One use of a tool. */
export type ToolUse = { toolName: string; success: boolean; durationMs: number }

export type ToolReporter = (use: ToolUse) => void

const TIMEOUT_MS = 10_000

/** Tells the platform of each use of a tool, behind the turn's back: a report that does not arrive is logged and given up. */
export function createToolReporter(
  settings: { platformUrl: string; platformToken: string },
  deps: { fetch: typeof fetch; log: Log },
): ToolReporter {
  return ({ toolName, success, durationMs }) => {
    const events = [{ tool_name: toolName, success, duration_ms: Math.round(durationMs) }]
    send(settings, deps.fetch, events).catch((error) =>
      deps.log.warn({ tool: toolName, error: errorMessage(error) }, 'the use of a tool could not be reported'),
    )
  }
}

async function send(
  settings: { platformUrl: string; platformToken: string },
  plainFetch: typeof fetch,
  events: unknown[],
): Promise<void> {
  const response = await plainFetch(`${settings.platformUrl}/v1/tool-events`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${settings.platformToken}`,
      ...requestIdHeader(),
    },
    body: JSON.stringify({ events }),
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`the platform answered ${response.status}`)
}
