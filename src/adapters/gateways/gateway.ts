import { z } from 'zod'
import type { McpResult, McpTool } from '../../core/agents/mcp.ts'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/list-of.ts'
import type { AgentKind } from '../runtimes/contract/runtime.ts'
import {
  type AgentSession,
  type BuiltInChannel,
  callBuiltInMcpTool,
  decidePairing,
  listBuiltInMcpTools,
  type McpUse,
  readChannels,
  readSessions,
  removePerson,
} from './built-in.ts'
import { type AgentCall, type AgentEndpoint, type Ask, createAsk, Problem } from './http.ts'
import { endOpenClawPairings } from './openclaw-device.ts'
import {
  type AgentNote,
  isOpenClawNote,
  readOpenClawNotes,
  resetOpenClawMemory,
  writeOpenClawNote,
} from './openclaw-memory.ts'
import { type AgentTurnEvent, streamReply } from './stream.ts'

type Timeouts = { probeMs: number; changeMs: number; chatIdleMs: number; chatTotalMs: number }
const TIMEOUTS: Timeouts = { probeMs: 5000, changeMs: 30_000, chatIdleMs: 120_000, chatTotalMs: 660_000 }

/** With a `turnId` the built-in agent runs the turn once, however often it is asked, and goes on when the connection breaks. */
export type AgentChatRequest = {
  sessionKey: string
  message: string
  turnId?: string
  /** What holds for this turn alone, beside what the agent is told anyway. */
  instructions?: string
  /** What was said before in a conversation of which the agent knows nothing yet. */
  history?: readonly { role: 'user' | 'assistant'; content: string; images?: readonly string[] }[]
  /** Pictures in the workspace of the agent that belong to the message; the built-in one shows them to its model. */
  images?: readonly string[]
}
/** `timestamp` as the agent wrote it, null when it did not. */
type AgentMessage = { role: string; content: string; timestamp: string | number | null }
type AgentHealth = { version: string | null; model: string | null; uptimeMs: number | null }
type AgentReadiness = { ready: boolean; failing: string[]; uptimeMs: number | null }

/**
 * Speaks to any agent over its port: the built-in one and OpenClaw. What goes wrong is an AppError: `unavailable` when
 * nobody listens, `upstream_timeout`, `limited` with the agent's own message, `upstream_failed` for the rest.
 */
export type AgentGateway = {
  /** False for everything but a live agent's answer: OpenClaw answers unknown paths with a page and 200. */
  isLive(endpoint: AgentEndpoint): Promise<boolean>
  /** @throws AppError when there is no such answer: an agent that says it is not ready is no error. */
  readiness(endpoint: AgentEndpoint): Promise<AgentReadiness>
  /** The version of the runtime, null when it does not say. */
  version(endpoint: AgentEndpoint): Promise<string | null>
  /** What the agent says of itself; null for what it does not say. */
  health(endpoint: AgentEndpoint): Promise<AgentHealth>
  /** The whole reply. Aborts with the signal's reason. */
  chat(endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal): Promise<string>
  /** The reply as it is written. Ends only after the agent said that it is complete; a break is `upstream_failed`. */
  streamChat(endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal): AsyncIterable<string>
  /** As `streamChat`, with what else the agent tells of the turn. */
  streamTurn(endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal): AsyncIterable<AgentTurnEvent>
  /**
   * The reply to a turn that was asked for before, from its beginning, as `streamTurn` gives it.
   * @throws AppError `not_found` TURN_NOT_FOUND when the agent has never heard of it, `conflict` TURN_INTERRUPTED when the
   * agent cannot tell, TURN_STOPPED.
   */
  joinTurn(endpoint: AgentEndpoint, turnId: string, signal: AbortSignal): AsyncIterable<AgentTurnEvent>
  /** Ends a turn that goes on without a connection; what was said stays in the agent's session. */
  stopTurn(endpoint: AgentEndpoint, turnId: string): Promise<void>
  /** Every conversation that the agent keeps, the newest first; none of OpenClaw's. */
  sessions(endpoint: AgentEndpoint): Promise<AgentSession[]>
  /** The last messages of a session, oldest first; none for a session the agent does not know. */
  history(endpoint: AgentEndpoint, sessionKey: string, limit: number): Promise<AgentMessage[]>
  /** Ends one session, which the built-in agent forgets; nothing happens where it is not known. */
  forgetSession(endpoint: AgentEndpoint, sessionKey: string): Promise<void>
  /** Ends every session and empties memory. */
  resetMemory(endpoint: AgentEndpoint): Promise<void>
  /** What an agent has written down in files of its own; nothing of the built-in one, whose memory is the platform's. */
  readNotes(endpoint: AgentEndpoint): Promise<AgentNote[]>
  /** Replaces one of these files; an empty text takes it away. */
  writeNote(endpoint: AgentEndpoint, note: Pick<AgentNote, 'path' | 'text'>): Promise<void>
  /** The messengers by which it can be spoken to; none of OpenClaw, which has its own. */
  channels(endpoint: AgentEndpoint): Promise<BuiltInChannel[]>
  /** Lets a stranger with this code write to the agent, or not. @throws AppError `not_found`. */
  decidePairing(endpoint: AgentEndpoint, decision: { channel: string; code: string; approve: boolean }): Promise<void>
  /** @throws AppError `not_found`, `conflict` for somebody whom its settings name. */
  removePerson(endpoint: AgentEndpoint, person: { channel: string; personId: string }): Promise<void>
  /** What the owner wants of the built-in agent in every session, null without any. @throws AppError `conflict` for OpenClaw. */
  readInstructions(endpoint: AgentEndpoint): Promise<string | null>
  /** Replaces them; an empty text is none. @throws as `readInstructions`. */
  writeInstructions(endpoint: AgentEndpoint, text: string): Promise<void>
  /** What an MCP server has that the built-in agent starts itself. @throws AppError `not_found`. */
  listMcpTools(endpoint: AgentEndpoint, server: string): Promise<McpTool[]>
  callMcpTool(endpoint: AgentEndpoint, use: McpUse): Promise<McpResult>
  /** Sends away whoever the agent knows besides the holder of its token. */
  endPairings(endpoint: AgentEndpoint): Promise<void>
}

const Live = z.object({ ok: z.literal(true), status: z.literal('live') })
const Ready = z.object({
  ready: z.boolean(),
  failing: listOf(z.string()).default([]),
  uptimeMs: z.number().nullable().default(null),
})
const Started = z.object({ version: z.string().nullable().default(null) })
const Health = z.object({
  version: z.string().nullable().default(null),
  model: z.string().nullable().default(null),
  uptimeMs: z.number().nullable().default(null),
})
const Text = z.union([
  z.string(),
  listOf(z.object({ type: z.string(), text: z.string().optional() })).transform((parts) =>
    parts.map((part) => part.text ?? '').join(''),
  ),
])
const History = z.object({
  items: listOf(
    z.object({
      role: z.string(),
      content: Text.nullish().transform((text) => text ?? ''),
      timestamp: z.union([z.string(), z.number()]).nullable().default(null),
    }),
  ),
})
const Instructions = z.object({ text: z.string().nullable() })
const Changed = z.object({ ok: z.literal(true) })

export function createAgentGateway(deps: { fetch: typeof fetch }, timeouts = TIMEOUTS): AgentGateway {
  const ask = createAsk(deps.fetch)
  const replyTimeouts = { idleMs: timeouts.chatIdleMs, totalMs: timeouts.chatTotalMs }
  const streamTurn = (endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal) =>
    streamReply(deps.fetch, replyTimeouts, toChatCall(endpoint, request), signal)
  async function* streamChat(endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal) {
    for await (const event of streamTurn(endpoint, request, signal)) if (event.type === 'text') yield event.text
  }

  return {
    streamChat,
    streamTurn,
    async *joinTurn(endpoint, turnId, signal) {
      if (endpoint.kind !== 'stead') throw unknowable()
      try {
        yield* streamReply(deps.fetch, replyTimeouts, { endpoint, path: `/turns/${turnId}` }, signal)
      } catch (error) {
        // A built-in agent of an earlier version keeps no turns.
        throw error instanceof AppError && error.message === NO_SUCH_PATH ? unknowable() : error
      }
    },
    async stopTurn(endpoint, turnId) {
      if (endpoint.kind !== 'stead') return
      const Stopped = z.union([Changed, Problem])
      const path = `/turns/${turnId}/stop`
      await ask(Stopped, { endpoint, path, method: 'POST', timeoutMs: timeouts.probeMs }, [200, 404])
    },
    async isLive(endpoint) {
      try {
        await ask(Live, { endpoint, path: '/healthz', timeoutMs: timeouts.probeMs })
        return true
      } catch (error) {
        if (error instanceof AppError) return false
        throw error
      }
    },
    readiness: (endpoint) => ask(Ready, { endpoint, path: '/readyz', timeoutMs: timeouts.probeMs }, [200, 503]),
    version: async (endpoint) =>
      (await ask(Started, { endpoint, path: '/startupz', timeoutMs: timeouts.probeMs })).version,
    health: (endpoint) => ask(Health, { endpoint, path: '/health', timeoutMs: timeouts.probeMs }),
    async chat(endpoint, request, signal) {
      let text = ''
      for await (const delta of streamChat(endpoint, request, signal)) text += delta
      return text
    },
    history(endpoint, sessionKey, limit) {
      const path = `/sessions/${encodeURIComponent(sessionKey)}/history?limit=${limit}`
      return readHistory(ask, { endpoint, path, timeoutMs: timeouts.changeMs })
    },
    sessions: async (endpoint) => (endpoint.kind === 'stead' ? readSessions(ask, endpoint, timeouts.changeMs) : []),
    async forgetSession(endpoint, sessionKey) {
      if (endpoint.kind !== 'stead') return
      const path = `/sessions/${encodeURIComponent(sessionKey)}`
      const Forgotten = z.union([z.object({ deleted: z.boolean() }), Problem])
      await ask(Forgotten, { endpoint, path, method: 'DELETE', timeoutMs: timeouts.changeMs }, [200, 404])
    },
    async resetMemory(endpoint) {
      if (endpoint.kind === 'openclaw') return resetOpenClawMemory(ask, endpoint, timeouts.changeMs)
      await ask(Changed, { endpoint, path: '/memory', method: 'DELETE', timeoutMs: timeouts.changeMs })
    },
    async readNotes(endpoint) {
      return endpoint.kind === 'openclaw' ? readOpenClawNotes(ask, endpoint, timeouts.probeMs) : []
    },
    async writeNote(endpoint, note) {
      if (!isNote(endpoint.kind, note.path)) throw new AppError('invalid', `${note.path} is no note of this agent`)
      await writeOpenClawNote(ask, endpoint, note, timeouts.changeMs)
    },
    channels: async (endpoint) => (endpoint.kind === 'stead' ? readChannels(ask, endpoint, timeouts.probeMs) : []),
    decidePairing: (endpoint, decision) => decidePairing(ask, endpoint, decision, timeouts.changeMs),
    listMcpTools: (endpoint, server) => listBuiltInMcpTools(ask, endpoint, server),
    callMcpTool: (endpoint, use) => callBuiltInMcpTool(ask, endpoint, use),
    removePerson: (endpoint, person) => removePerson(ask, endpoint, person, timeouts.changeMs),
    readInstructions: (endpoint) => readInstructions(ask, endpoint, timeouts.probeMs),
    writeInstructions: (endpoint, text) => writeInstructions(ask, endpoint, text, timeouts.changeMs),
    async endPairings(endpoint) {
      // Nobody was let in to our own agent by its tokens; its channels have their own.
      if (endpoint.kind === 'openclaw') await endOpenClawPairings(ask, endpoint, timeouts.changeMs)
    },
  }
}

/** Does an agent of this kind keep what `key` names in a file of its own? */
export function isNote(kind: AgentKind, key: string): boolean {
  return kind === 'openclaw' && isOpenClawNote(key)
}

async function readInstructions(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<string | null> {
  requireBuiltIn(endpoint)
  return (await ask(Instructions, { endpoint, path: '/instructions', timeoutMs })).text
}

async function writeInstructions(ask: Ask, endpoint: AgentEndpoint, text: string, timeoutMs: number): Promise<void> {
  requireBuiltIn(endpoint)
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ text })
  await ask(Changed, { endpoint, path: '/instructions', method: 'PUT', headers, body, timeoutMs })
}

function requireBuiltIn({ kind }: AgentEndpoint): void {
  if (kind === 'stead') return
  throw new AppError('conflict', 'This agent keeps its instructions in files of its own', { code: 'OTHER_RUNTIME' })
}

/** What a built-in agent says of a path that it does not know. */
const NO_SUCH_PATH = 'Not found'

function unknowable(): AppError {
  return new AppError('conflict', 'The agent cannot tell what became of the turn', { code: 'TURN_INTERRUPTED' })
}

/** What each program calls the agent itself, whichever model that uses. */
const MODELS: Record<AgentKind, string> = { stead: 'default', openclaw: 'openclaw' }

function toChatCall(endpoint: AgentEndpoint, request: AgentChatRequest): AgentCall {
  return {
    endpoint,
    path: '/v1/chat/completions',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-session-key': request.sessionKey,
      'x-openclaw-session-key': request.sessionKey,
      ...(request.turnId !== undefined && { 'x-turn-id': request.turnId }),
    },
    body: JSON.stringify(toChatBody(endpoint.kind, request)),
  }
}

function toChatBody(kind: AgentKind, { instructions, history = [], turnId, ...question }: AgentChatRequest) {
  const said = [...history, { ...question, role: 'user' as const, content: question.message }]
  return {
    model: MODELS[kind],
    stream: true,
    ...(turnId !== undefined && { stream_options: { include_usage: true } }),
    messages: [
      ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
      ...said.map((message) => toWireMessage(kind, message)),
    ],
  }
}

async function readHistory(ask: Ask, call: AgentCall & { timeoutMs: number }): Promise<AgentMessage[]> {
  const Found = z.union([History, Problem.transform(() => ({ items: [] }))])
  return (await ask(Found, call, [200, 404])).items
}

type WireMessage = NonNullable<AgentChatRequest['history']>[number]

/** Only the built-in agent knows `images`: others read what they want in their workspace. */
function toWireMessage(kind: AgentKind, { role, content, images = [] }: WireMessage): WireMessage {
  return kind === 'stead' && images.length > 0 ? { role, content, images } : { role, content }
}

/** Speaks to no agent: every call that would is AppError `unavailable` with `reason`, and none is live. */
export function createNoGateway(reason: string): AgentGateway {
  const refuse = async (): Promise<never> => {
    throw new AppError('unavailable', reason)
  }
  return {
    isLive: async () => false,
    readiness: refuse,
    version: refuse,
    health: refuse,
    chat: refuse,
    streamChat: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
    streamTurn: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
    joinTurn: () => ({ [Symbol.asyncIterator]: () => ({ next: refuse }) }),
    stopTurn: refuse,
    sessions: refuse,
    history: refuse,
    forgetSession: refuse,
    resetMemory: refuse,
    readNotes: refuse,
    writeNote: refuse,
    channels: refuse,
    decidePairing: refuse,
    removePerson: refuse,
    readInstructions: refuse,
    writeInstructions: refuse,
    listMcpTools: refuse,
    callMcpTool: refuse,
    endPairings: refuse,
  }
}
