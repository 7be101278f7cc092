import { z } from 'zod'
import type { McpResult, McpTool } from '../../core/agents/mcp.ts'
import type { RehearsalRequest, RehearsalResult } from '../../core/agents/rehearsal.ts'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/lines.ts'
import type { AgentKind } from '../runtimes/contract/runtime.ts'
import {
  type AgentSession,
  type BuiltInChannel,
  createBuiltInTools,
  deletePerson,
  type McpUse,
  readChannels,
  readSessions,
  sendPairingDecision,
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

/** With a `turnId` the built-in agent runs the turn only once and continues when the connection breaks. */
export type AgentChatRequest = {
  sessionKey: string
  message: string
  turnId?: string
  /** Extra instructions for this turn. */
  instructions?: string
  /** Earlier messages of a conversation that the agent does not know. */
  history?: readonly { role: 'user' | 'assistant'; content: string; images?: readonly string[] }[]
  /** Images in the agent's workspace that belong to the message; only the built-in agent shows them to its model. */
  images?: readonly string[]
}
/** `timestamp` is in the agent's own format, null when missing. */
type AgentMessage = { role: string; content: string; timestamp: string | number | null }
type AgentHealth = { version: string | null; model: string | null; uptimeMs: number | null }
type AgentReadiness = { ready: boolean; failing: string[]; uptimeMs: number | null }

/**
 * Speaks to an agent, built-in or OpenClaw. Failures are AppErrors: `unavailable` when nothing listens,
 * `upstream_timeout`, `limited` with the agent's message, `upstream_failed` for the rest.
 */
export type AgentGateway = {
  /** Returns whether a live agent answers; OpenClaw answers unknown paths with a page and 200. */
  isLive(endpoint: AgentEndpoint): Promise<boolean>
  /** Returns the readiness, also when not ready. @throws AppError without an answer. */
  readiness(endpoint: AgentEndpoint): Promise<AgentReadiness>
  /** Returns the runtime's version; null when unknown. */
  version(endpoint: AgentEndpoint): Promise<string | null>
  /** Returns the agent's own report; null for missing fields. */
  health(endpoint: AgentEndpoint): Promise<AgentHealth>
  /** Returns the whole reply. Aborts with the signal's reason. */
  chat(endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal): Promise<string>
  /** Yields the reply as it is written, until the agent reports its end; a broken stream is `upstream_failed`. */
  streamChat(endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal): AsyncIterable<string>
  /** Streams like `streamChat`, including the other events of the turn. */
  streamTurn(endpoint: AgentEndpoint, request: AgentChatRequest, signal: AbortSignal): AsyncIterable<AgentTurnEvent>
  /**
   * Streams an earlier turn from its beginning, like `streamTurn`.
   * @throws AppError `not_found` TURN_NOT_FOUND when the agent does not know it, `conflict` TURN_INTERRUPTED when its
   * outcome is unknown, TURN_STOPPED.
   */
  joinTurn(endpoint: AgentEndpoint, turnId: string, signal: AbortSignal): AsyncIterable<AgentTurnEvent>
  /** Stops a turn that runs without a connection; its text stays in the agent's session. */
  stopTurn(endpoint: AgentEndpoint, turnId: string): Promise<void>
  /** Lists the agent's sessions, newest first; empty for OpenClaw. */
  sessions(endpoint: AgentEndpoint): Promise<AgentSession[]>
  /** Returns the last messages of a session, oldest first; empty for an unknown session. */
  history(endpoint: AgentEndpoint, sessionKey: string, limit: number): Promise<AgentMessage[]>
  /** Deletes a session of the built-in agent, if known. */
  forgetSession(endpoint: AgentEndpoint, sessionKey: string): Promise<void>
  /** Ends every session and clears memory. */
  resetMemory(endpoint: AgentEndpoint): Promise<void>
  /** Returns the agent's memory files; empty for the built-in agent, whose memory is on the platform. */
  readNotes(endpoint: AgentEndpoint): Promise<AgentNote[]>
  /** Replaces a memory file; an empty text deletes it. */
  writeNote(endpoint: AgentEndpoint, note: Pick<AgentNote, 'path' | 'text'>): Promise<void>
  /** Lists the agent's messengers; empty for OpenClaw, which manages its own. */
  channels(endpoint: AgentEndpoint): Promise<BuiltInChannel[]>
  /** Approves or denies the person with this code. @throws AppError `not_found`. */
  decidePairing(endpoint: AgentEndpoint, decision: { channel: string; code: string; approve: boolean }): Promise<void>
  /** @throws AppError `not_found`, `conflict` for a person named in its settings. */
  removePerson(endpoint: AgentEndpoint, person: { channel: string; personId: string }): Promise<void>
  /** Returns the owner's instructions for every session, null without any. @throws AppError `conflict` for OpenClaw. */
  readInstructions(endpoint: AgentEndpoint): Promise<string | null>
  /** Replaces the instructions; an empty text deletes them. @throws as `readInstructions`. */
  writeInstructions(endpoint: AgentEndpoint, text: string): Promise<void>
  /** Lists the tools of an MCP server that the built-in agent starts. @throws AppError `not_found`. */
  listMcpTools(endpoint: AgentEndpoint, server: string): Promise<McpTool[]>
  callMcpTool(endpoint: AgentEndpoint, use: McpUse): Promise<McpResult>
  /** Answers a message with tools that are recorded, not executed. @throws AppError `conflict` for OpenClaw. */
  rehearse(endpoint: AgentEndpoint, request: RehearsalRequest): Promise<RehearsalResult>
  /** Ends all pairings; only the holder of the token keeps access. */
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
        // An older built-in agent does not keep turns.
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
    decidePairing: (endpoint, decision) => sendPairingDecision(ask, endpoint, decision, timeouts.changeMs),
    ...createBuiltInTools(ask),
    removePerson: (endpoint, person) => deletePerson(ask, endpoint, person, timeouts.changeMs),
    readInstructions: (endpoint) => readInstructions(ask, endpoint, timeouts.probeMs),
    writeInstructions: (endpoint, text) => writeInstructions(ask, endpoint, text, timeouts.changeMs),
    async endPairings(endpoint) {
      // The built-in agent has no pairings by its gateway token.
      if (endpoint.kind === 'openclaw') await endOpenClawPairings(ask, endpoint, timeouts.changeMs)
    },
  }
}

/** Returns whether `key` names a memory file of this kind of agent. */
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

/** The built-in agent's error for an unknown path. */
const NO_SUCH_PATH = 'Not found'

function unknowable(): AppError {
  return new AppError('conflict', 'The agent cannot tell what became of the turn', { code: 'TURN_INTERRUPTED' })
}

/** The model name that selects the agent itself. */
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

/** Removes `images` for OpenClaw, which reads its workspace itself. */
function toWireMessage(kind: AgentKind, { role, content, images = [] }: WireMessage): WireMessage {
  return kind === 'stead' && images.length > 0 ? { role, content, images } : { role, content }
}

/** Creates a gateway without agents: every call is AppError `unavailable` with `reason`, and none is live. */
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
    rehearse: refuse,
    endPairings: refuse,
  }
}
