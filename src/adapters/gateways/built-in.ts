import { z } from 'zod'
import { McpResult, McpTool } from '../../core/agents/mcp.ts'
import { type RehearsalRequest, RehearsalResult } from '../../core/agents/rehearsal.ts'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/lines.ts'
import { type AgentEndpoint, type Ask, Problem } from './http.ts'

const BuiltInChannel = z.object({
  name: z.string(),
  connected: z.boolean(),
  since: z.string().nullable(),
  account: z.string().nullable(),
  lastError: z.object({ message: z.string(), at: z.string() }).nullable(),
  people: listOf(
    z.object({ id: z.string(), name: z.string().nullable(), since: z.string().nullable(), isConfigured: z.boolean() }),
  ),
  pairings: listOf(z.object({ code: z.string(), id: z.string(), name: z.string(), expiresAt: z.string() })),
})
/** A messenger of an agent; times are ISO 8601. `pairings` are people who wait for approval. */
export type BuiltInChannel = z.infer<typeof BuiltInChannel>

const AgentSession = z.object({
  key: z.string(),
  messageCount: z.number(),
  createdAt: z.string(),
  lastActivity: z.string(),
})
/** A session of the built-in agent; times are ISO 8601. */
export type AgentSession = z.infer<typeof AgentSession>
const Sessions = z.object({ sessions: listOf(AgentSession) })

const Channels = z.union([z.object({ channels: listOf(BuiltInChannel) }), Problem])
const Decided = z.union([z.object({ id: z.string(), name: z.string() }), Problem])
const Removed = z.union([z.object({ ok: z.literal(true) }), Problem])

/** Returns no channels for an older agent without this path. */
export async function readChannels(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<BuiltInChannel[]> {
  const found = await ask(Channels, { endpoint, path: '/channels', timeoutMs }, [200, 404])
  return 'channels' in found ? found.channels : []
}

export async function readSessions(ask: Ask, endpoint: AgentEndpoint, timeoutMs: number): Promise<AgentSession[]> {
  return (await ask(Sessions, { endpoint, path: '/sessions', timeoutMs })).sessions
}

/** @throws AppError `not_found`. */
export async function sendPairingDecision(
  ask: Ask,
  endpoint: AgentEndpoint,
  { channel, code, approve }: { channel: string; code: string; approve: boolean },
  timeoutMs: number,
): Promise<void> {
  const path = `/channels/${encodeURIComponent(channel)}/pairings/${encodeURIComponent(code)}`
  const headers = { 'content-type': 'application/json' }
  const call = { endpoint, path, method: 'POST', headers, body: JSON.stringify({ approve }), timeoutMs }
  throwProblem(await ask(Decided, call, [200, 404]))
}

/** @throws AppError `not_found`, `conflict` for a person named in the agent's settings. */
export async function deletePerson(
  ask: Ask,
  endpoint: AgentEndpoint,
  { channel, personId }: { channel: string; personId: string },
  timeoutMs: number,
): Promise<void> {
  const path = `/channels/${encodeURIComponent(channel)}/people/${encodeURIComponent(personId)}`
  throwProblem(await ask(Removed, { endpoint, path, method: 'DELETE', timeoutMs }, [200, 404, 409]))
}

function throwProblem(answer: object | z.infer<typeof Problem>): void {
  const problem = Problem.safeParse(answer).data?.error
  if (problem) throw new AppError(problem.type === 'conflict' ? 'conflict' : 'not_found', problem.message)
}

/** The agent may have to download the server first, and then allows a minute per call. */
const TIMEOUT_MS = 130_000

const Listed = z.union([z.object({ tools: listOf(McpTool) }), Problem])
const Said = z.union([McpResult, Problem])

/** A tool call on a server that the agent starts. */
export type McpUse = { server: string; tool: string; arguments: Record<string, unknown> }

/** Lists the tools of a server that the agent starts. @throws AppError `not_found`, `upstream_failed`. */
async function listBuiltInMcpTools(ask: Ask, endpoint: AgentEndpoint, server: string): Promise<McpTool[]> {
  const call = { endpoint, path: `${toPath(server)}/tools`, timeoutMs: TIMEOUT_MS }
  return requireAnswer(await ask(Listed, call, STATUSES)).tools
}

/** @throws AppError as `listBuiltInMcpTools`. */
async function callBuiltInMcpTool(ask: Ask, endpoint: AgentEndpoint, use: McpUse): Promise<McpResult> {
  const { server, ...body } = use
  const headers = { 'content-type': 'application/json' }
  const path = `${toPath(server)}/call`
  const call = { endpoint, path, method: 'POST', headers, body: JSON.stringify(body), timeoutMs: TIMEOUT_MS }
  return requireAnswer(await ask(Said, call, STATUSES))
}

const REHEARSAL_MS = 180_000
const Rehearsed = z.union([RehearsalResult, Problem])

/** Lets the agent answer with recorded tools. @throws AppError `limited`, `upstream_failed`, `not_found` for an older agent. */
async function rehearseBuiltIn(ask: Ask, endpoint: AgentEndpoint, request: RehearsalRequest): Promise<RehearsalResult> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(request)
  const call = { endpoint, path: '/rehearsals', method: 'POST', headers, body, timeoutMs: REHEARSAL_MS }
  return requireAnswer(await ask(Rehearsed, call, STATUSES))
}

/** Creates the calls that concern tools; OpenClaw has none of them. */
export function createBuiltInTools(ask: Ask) {
  return {
    listMcpTools: (endpoint: AgentEndpoint, server: string) => listBuiltInMcpTools(ask, endpoint, server),
    callMcpTool: (endpoint: AgentEndpoint, use: McpUse) => callBuiltInMcpTool(ask, endpoint, use),
    rehearse: (endpoint: AgentEndpoint, request: RehearsalRequest) => rehearseBuiltIn(ask, endpoint, request),
  }
}

const STATUSES = [200, 404, 502, 504]

function toPath(server: string): string {
  return `/mcp-servers/${encodeURIComponent(server)}`
}

function requireAnswer<Answer extends object>(answer: Answer | z.infer<typeof Problem>): Answer {
  if (!('error' in answer)) return answer
  const { type, message } = answer.error
  throw new AppError(type === 'not_found' ? 'not_found' : 'upstream_failed', message)
}
