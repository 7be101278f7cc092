import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { MAX_TOOLS, type McpResult, type McpTool, toMcpResult, toMcpTools } from '../../core/agents/mcp.ts'
import { AppError } from '../../core/errors.ts'
import { createJsonMeter } from '../../core/json/bounded-json.ts'
import { VERSION } from '../../core/version.ts'
import type { Egress, EgressResponse } from '../egress/egress.ts'
import { EgressError } from '../egress/error.ts'

const MAX_BYTES = 2 * 1024 * 1024
/** Limits JSON values per answer, because parsing more would block the event loop. */
const MAX_VALUES = 30_000
/** Limits lines per event stream, because each event has a fixed cost. */
const MAX_EVENT_LINES = 2000
const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d]
/** Content parts kept of a tool's answer; the rest is dropped. */
const MAX_PARTS = 1000

/** URL of an external MCP server and the headers sent to it. */
export type McpEndpoint = { url: string; headers: Readonly<Record<string, string>>; access?: McpAccess }

/** The OAuth access to one server. Its functions throw the AppError that the call ends with. */
export type McpAccess = {
  token(): Promise<string>
  /** Replaces the token that the server refused. */
  renew(refused: string): Promise<void>
  /**
   * Ends the authorization after a refusal that a new token would not change; `scope` names what the server requires.
   */
  end(scope: string | null): Promise<never>
}

/**
 * Calls external MCP servers over streamable HTTP through the egress client, with a new session per call so a failing
 * server affects only its own call.
 * @throws AppError `upstream_failed`, with code MCP_AUTHORIZATION_REQUIRED for a server that wants a token, and
 * `upstream_timeout`.
 */
export type McpClients = {
  listTools(endpoint: McpEndpoint, timeoutMs: number): Promise<McpTool[]>
  callTool(endpoint: McpEndpoint, name: string, input: Record<string, unknown>, timeoutMs: number): Promise<McpResult>
}

export function createMcpClients(egress: Egress): McpClients {
  return {
    listTools: (endpoint, timeoutMs) =>
      withClient(egress, endpoint, timeoutMs, async (client, signal) => {
        const { tools } = await client.request({ method: 'tools/list' }, ListResult, { signal, timeout: timeoutMs })
        return toMcpTools(z.array(Tool).parse(tools.slice(0, MAX_TOOLS)))
      }),
    callTool: (endpoint, name, input, timeoutMs) =>
      withClient(egress, endpoint, timeoutMs, async (client, signal) => {
        const call = { method: 'tools/call', params: { name, arguments: input } }
        const { content, isError } = await client.request(call, CallResult, { signal, timeout: timeoutMs })
        return toMcpResult({ content: z.array(Part).parse(content.slice(0, MAX_PARTS)), isError })
      }),
  }
}

/**
 * Validates only the used fields: the SDK's schemas report each invalid list item, which takes seconds for a huge list.
 */
const ListResult = z.looseObject({ tools: z.array(z.unknown()) })
const CallResult = z.looseObject({ content: z.array(z.unknown()).default([]), isError: z.boolean().optional() })
const Tool = z.object({
  name: z.string(),
  description: z.string().optional(),
  inputSchema: z.unknown(),
  annotations: z
    .object({ readOnlyHint: z.boolean().optional().catch(undefined) })
    .optional()
    .catch(undefined),
})
const Part = z.looseObject({ type: z.string() })

/** Runs one session within `timeoutMs`. */
async function withClient<Result>(
  egress: Egress,
  endpoint: McpEndpoint,
  timeoutMs: number,
  work: (client: Client, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  // Loads the SDK on first use because most installations have no MCP server.
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const time = AbortSignal.timeout(timeoutMs)
  const tooMuch = new AbortController()
  const signal = AbortSignal.any([time, tooMuch.signal])
  const client = new Client({ name: 'stead', version: VERSION })
  const refusals = createRefusals(endpoint.access)
  const transport = new StreamableHTTPClientTransport(new URL(endpoint.url), {
    fetch: refusals.watch(createEgressFetch(egress, endpoint.headers, { timeoutMs, signal, tooMuch })),
    ...(refusals.authProvider && { authProvider: refusals.authProvider }),
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: 1000,
      reconnectionDelayGrowFactor: 1,
    },
  })
  try {
    await client.connect(transport, { signal, timeout: timeoutMs })
    return await work(client, signal)
  } catch (cause) {
    if (time.aborted) throw new AppError('upstream_timeout', 'The MCP server did not answer in time', {}, { cause })
    await refusals.rethrow()
    if (cause instanceof AppError && cause.extra.code === 'EGRESS_BLOCKED') throw cause
    const reason = cause instanceof EgressError ? cause.message : 'The MCP server did not answer as it should'
    throw new AppError('upstream_failed', reason, {}, { cause })
  } finally {
    await client.close().catch(() => undefined)
  }
}

/**
 * Connects the SDK with the access of the endpoint. The SDK retries once with a renewed token, but may report a refusal
 * as another error, so the reason is kept here.
 */
function createRefusals(access: McpAccess | undefined) {
  let failure: unknown
  let refusal: Response | null = null
  let current = ''
  const noting = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work
    } catch (error) {
      failure = error
      throw error
    }
  }
  return {
    authProvider: access && {
      async token() {
        current = await noting(access.token())
        return current
      },
      onUnauthorized: () => noting(access.renew(current)),
    },
    watch(send: FetchLike): FetchLike {
      return async (url, init) => {
        const response = await send(url, init)
        refusal = response.status === 401 || response.status === 403 ? response : null
        return response
      }
    },
    /** Throws the AppError of a refusal; returns after any other failure. */
    async rethrow(): Promise<void> {
      if (failure instanceof AppError) throw failure
      if (refusal === null) return
      const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client')
      const { error, scope = null } = extractWWWAuthenticateParams(refusal)
      if (refusal.status === 403 && error !== 'insufficient_scope') return
      if (access) await access.end(scope)
      const message = 'The MCP server wants a sign-in'
      throw new AppError('upstream_failed', message, { code: 'MCP_AUTHORIZATION_REQUIRED' })
    },
  }
}

type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Time and size limits of a session. */
type Ending = { timeoutMs: number; signal: AbortSignal; tooMuch: AbortController }

/** Adapts the egress client to the SDK's `fetch`; redirects are not followed. */
function createEgressFetch(
  egress: Egress,
  own: McpEndpoint['headers'],
  { timeoutMs, signal: ending, tooMuch }: Ending,
) {
  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const signal = init.signal ? AbortSignal.any([init.signal, ending]) : ending
    const response = await egress.request(String(url), {
      method: init.method ?? 'GET',
      headers: { ...Object.fromEntries(new Headers(init.headers)), ...own },
      ...(typeof init.body === 'string' && { body: init.body }),
      timeoutMs,
      signal,
      maxRedirects: 0,
      maxBytes: MAX_BYTES,
      maxWireBytes: MAX_BYTES,
    })
    return toResponse(response, tooMuch)
  }
}

/** The egress client has decoded the body already. */
function toResponse(response: EgressResponse, tooMuch: AbortController): Response {
  const { status, headers, cancel } = response
  const hasBody = status !== 204 && status !== 205 && status !== 304
  if (!hasBody) cancel()
  const plain = [...headers].filter(([name]) => name !== 'content-encoding')
  const maxLines = headers.get('content-type')?.startsWith('application/json')
    ? Number.POSITIVE_INFINITY
    : MAX_EVENT_LINES
  return new Response(hasBody ? toStream(response, { tooMuch, maxLines }) : null, {
    status,
    headers: Object.fromEntries(plain),
  })
}

/** Accepts JSON or an event stream that contains JSON. */
function toStream(
  { body, cancel }: EgressResponse,
  { tooMuch, maxLines }: { tooMuch: AbortController; maxLines: number },
): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  const measure = createJsonMeter()
  let lines = 0
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) return controller.close()
      lines += countLines(value)
      if (measure(value).values <= MAX_VALUES && lines <= maxLines) return controller.enqueue(value)
      // The SDK would wait for the rest of a cut stream, so abort.
      tooMuch.abort(new Error(`It says more than ${MAX_VALUES} values, or more than ${maxLines} lines`))
      controller.error(tooMuch.signal.reason)
    },
    cancel,
  })
}

function countLines(piece: Uint8Array): number {
  let count = 0
  for (let index = 0; index < piece.length; index++) {
    if (piece[index] === LINE_FEED || piece[index] === CARRIAGE_RETURN) count++
  }
  return count
}
