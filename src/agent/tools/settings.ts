import { AGENT_TOOLS, LIMITS, TOOL_NAMES, ToolSettings } from '../../core/agents/agent-tools.ts'
import { AppError } from '../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../core/ids.ts'
import type { PlatformCall } from '../platform-call.ts'

/** What may be used in the turn that begins. */
export type LoadToolSettings = (signal: AbortSignal) => Promise<ToolSettings>

/** What needs no platform that does it; of these some uses need an owner who can be asked, and fail without. */
const ALONE: readonly string[] = TOOL_NAMES.filter(
  (name) => AGENT_TOOLS[name].approval !== 'always' && AGENT_TOOLS[name].where === 'agent',
)
/** An agent on its owner's machine keeps that machine's time. */
const LOCAL_TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone
const USUAL_LIMITS = { modelTurns: LIMITS.modelTurns.usual, toolCalls: LIMITS.toolCalls.usual, maxUsd: null }

/**
 * Asks the platform at every turn, so that what the owner switches off is off at once; a turn whose tools nobody knows
 * fails. An agent that runs elsewhere with its owner's key, or at a platform that knows no such settings, has what it can
 * do alone.
 */
export function createToolSettingsLoader(platformToken: string, call: PlatformCall): LoadToolSettings {
  const alone: ToolSettings = {
    tools: [...ALONE],
    hasMcp: false,
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
