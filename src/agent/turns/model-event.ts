import type { EarlyEnd } from '../../core/agents/turn-limits.ts'
import type { ToolUse } from '../tools/uses.ts'

/**
 * `generation` is one call of the model, by the name under which the platform books it; `early_end` says that a limit has
 * ended the turn, after the sentence that tells so; `restart` that the turn was taken up again after a crash, so that what
 * follows replaces everything before it.
 */
export type ModelEvent =
  | { type: 'answering'; model: string }
  | { type: 'text'; text: string }
  | ({ type: 'tool' } & ToolUse)
  | { type: 'generation'; id: string }
  | ({ type: 'early_end' } & EarlyEnd)
  | { type: 'restart'; restarts: number }
