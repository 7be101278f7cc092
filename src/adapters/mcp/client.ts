import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { MAX_TOOLS, type McpResult, type McpTool, toMcpResult, toMcpTools } from '../../core/agents/mcp.ts'
import { AppError } from '../../core/errors.ts'
import { createJsonMeter } from '../../core/json/json-meter.ts'
import { VERSION } from '../../core/version.ts'
import type { Egress, EgressResponse } from '../egress/egress.ts'
import { EgressError } from '../egress/error.ts'

const MAX_BYTES = 2 * 1024 * 1024
/** Values of JSON in an answer: reading more of them would hold everybody up. */
const MAX_VALUES = 30_000
/** Lines of a stream of events: each event is looked at by itself, however little it says. */
const MAX_EVENT_LINES = 2000
const [LINE_FEED, CARRIAGE_RETURN] = [0x0a, 0x0d]
/** What a tool says has this many parts at most; of the others nothing is known. */
const MAX_PARTS = 1000

/** Where a server of somebody else is, and what it is shown. */
export type McpEndpoint = { url: string; headers: Readonly<Record<string, string>> }

/**
 * Speaks to MCP servers of others by streamable HTTP, only where the egress rules allow, and anew for each call: a server
 * that hangs or lies costs its own call. @throws AppError `upstream_failed` and `upstream_timeout`.
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
 * What is used of an answer. The schemas of the SDK tell of each part of a list what is wrong with it: for a list without end
 * that takes many seconds.
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

/** One conversation from greeting to farewell, all of it within `timeoutMs`. */
async function withClient<Result>(
  egress: Egress,
  endpoint: McpEndpoint,
  timeoutMs: number,
  work: (client: Client, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  // Who has no server of this kind pays nothing for it.
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const time = AbortSignal.timeout(timeoutMs)
  const tooMuch = new AbortController()
  const signal = AbortSignal.any([time, tooMuch.signal])
  const client = new Client({ name: 'stead', version: VERSION })
  const transport = new StreamableHTTPClientTransport(new URL(endpoint.url), {
    fetch: createEgressFetch(egress, endpoint.headers, { timeoutMs, signal, tooMuch }),
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
    const reason = cause instanceof EgressError ? cause.message : 'The MCP server did not answer as it should'
    throw new AppError('upstream_failed', reason, {}, { cause })
  } finally {
    await client.close().catch(() => undefined)
  }
}

/** When a conversation is over, and who ends it that says too much. */
type Ending = { timeoutMs: number; signal: AbortSignal; tooMuch: AbortController }

/** `fetch` as the SDK wants it, by the one way to addresses that users supply. Redirects are answers like any other. */
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

/** The body is decoded already. */
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

/** JSON, or events with JSON in them. */
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
      // The SDK waits for the rest of events that break off.
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
