import { AGENT_TOOLS, LIMITS, TOOL_NAMES, ToolSettings } from '../../core/agents/agent-tools.ts'
import { AppError } from '../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../core/ids.ts'
import type { PlatformCall } from '../platform.ts'

export type LoadToolSettings = (signal: AbortSignal) => Promise<ToolSettings>

/** Tools that work without the platform and never need approval for every call. */
const ALONE: readonly string[] = TOOL_NAMES.filter(
  (name) => AGENT_TOOLS[name].approval !== 'always' && AGENT_TOOLS[name].where === 'agent',
)
/** An agent on its owner's machine uses that machine's time zone. */
const LOCAL_TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
const USUAL_LIMITS = { modelTurns: LIMITS.modelTurns.usual, toolCalls: LIMITS.toolCalls.usual, maxUsd: null }

/**
 * Loads settings from the platform for every turn, so that a change applies at once; a turn fails if they cannot be
 * loaded. An agent that uses its owner's API key, or a platform without tool settings, gets the tools that need no
 * platform.
 */
export function createToolSettingsLoader(platformToken: string, call: PlatformCall): LoadToolSettings {
  const alone: ToolSettings = {
    tools: [...ALONE],
    hasMcp: false,
    acceptsNotIsolated: false,
    limits: USUAL_LIMITS,
    price: null,
    timeZone: LOCAL_TIME_ZONE,
  }
  if (!platformToken.startsWith(AGENT_TOKEN_PREFIX)) return async () => alone
  return async (signal) => {
    try {
      return await call(ToolSettings, { path: '/v1/tools', signal })
    } catch (error) {
      if (error instanceof AppError && error.kind === 'not_found') return alone
      throw error
    }
  }
}
