import type { ToolName } from './agent-tools.ts'

/** Kinds of daily limits of an agent. */
export const LIMIT_KINDS = ['usd', 'tokens', 'messages', 'toolCalls', 'files'] as const
export type LimitKind = (typeof LIMIT_KINDS)[number]
/** Actions at a limit: the owner is asked, the agent pauses until midnight, or it is stopped. */
export const LIMIT_ACTIONS = ['ask', 'pause', 'stop'] as const
export type LimitAction = (typeof LIMIT_ACTIONS)[number]
/** Things that agents report before they do them. */
export const COUNTED_KINDS = ['messages', 'toolCalls', 'files'] as const
export type CountedKind = (typeof COUNTED_KINDS)[number]

/** Tools that write a file. */
export const FILE_TOOLS: ReadonlySet<string> = new Set<ToolName>(['write_file', 'patch_file', 'move_file'])
/** Tools that send a message. */
export const MESSAGE_TOOLS: ReadonlySet<string> = new Set<ToolName>(['send_message', 'message_agent'])
