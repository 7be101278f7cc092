import { z } from 'zod'
import { McpResult, McpTool } from '../../core/agents/mcp.ts'
import { AppError } from '../../core/errors.ts'
import { listOf } from '../../core/text/list-of.ts'
import type { AgentEndpoint } from './endpoint.ts'
import { type Ask, Problem } from './http.ts'

/** The agent may have to fetch the server first, and then gives a call a minute. */
const TIMEOUT_MS = 130_000

const Listed = z.union([z.object({ tools: listOf(McpTool) }), Problem])
const Said = z.union([McpResult, Problem])

/** A use of a tool of a server that the agent starts. */
export type McpUse = { server: string; tool: string; arguments: Record<string, unknown> }

/** What a server that the agent starts says that it has. @throws AppError `not_found`, `upstream_failed`. */
export async function listMcpTools(ask: Ask, endpoint: AgentEndpoint, server: string): Promise<McpTool[]> {
  const call = { endpoint, path: `${toPath(server)}/tools`, timeoutMs: TIMEOUT_MS }
  return requireAnswer(await ask(Listed, call, STATUSES)).tools
}

/** @throws AppError as `listMcpTools`. */
export async function callMcpTool(ask: Ask, endpoint: AgentEndpoint, use: McpUse): Promise<McpResult> {
  const { server, ...body } = use
  const headers = { 'content-type': 'application/json' }
  const path = `${toPath(server)}/call`
  const call = { endpoint, path, method: 'POST', headers, body: JSON.stringify(body), timeoutMs: TIMEOUT_MS }
  return requireAnswer(await ask(Said, call, STATUSES))
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
