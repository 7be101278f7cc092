import type { Client } from '@modelcontextprotocol/client'
import { type McpResult, type McpTool, toMcpResult, toMcpTools } from '../../core/agents/mcp.ts'
import { AppError } from '../../core/errors.ts'
import { VERSION } from '../../core/version.ts'
import type { Egress, EgressResponse } from '../egress/egress.ts'
import { EgressError } from '../egress/error.ts'

const MAX_BYTES = 2 * 1024 * 1024

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
        const { tools } = await client.listTools(undefined, { signal, timeout: timeoutMs })
        return toMcpTools(tools)
      }),
    callTool: (endpoint, name, input, timeoutMs) =>
      withClient(egress, endpoint, timeoutMs, async (client, signal) => {
        const result = await client.callTool({ name, arguments: input }, { signal, timeout: timeoutMs })
        return toMcpResult(result)
      }),
  }
}

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
  const client = new Client({ name: 'stead', version: VERSION })
  const transport = new StreamableHTTPClientTransport(new URL(endpoint.url), {
    fetch: createEgressFetch(egress, endpoint.headers, timeoutMs, time),
    reconnectionOptions: {
      maxRetries: 0,
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: 1000,
      reconnectionDelayGrowFactor: 1,
    },
  })
  try {
    await client.connect(transport, { signal: time, timeout: timeoutMs })
    return await work(client, time)
  } catch (cause) {
    if (time.aborted) throw new AppError('upstream_timeout', 'The MCP server did not answer in time', {}, { cause })
    const reason = cause instanceof EgressError ? cause.message : 'The MCP server did not answer as it should'
    throw new AppError('upstream_failed', reason, {}, { cause })
  } finally {
    await client.close().catch(() => undefined)
  }
}

/** `fetch` as the SDK wants it, by the one way to addresses that users supply. Redirects are answers like any other. */
function createEgressFetch(egress: Egress, own: McpEndpoint['headers'], timeoutMs: number, time: AbortSignal) {
  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const signal = init.signal ? AbortSignal.any([init.signal, time]) : time
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
    return toResponse(response)
  }
}

/** The body is decoded already. */
function toResponse({ status, headers, body, cancel }: EgressResponse): Response {
  const hasBody = status !== 204 && status !== 205 && status !== 304
  if (!hasBody) cancel()
  const plain = [...headers].filter(([name]) => name !== 'content-encoding')
  return new Response(hasBody ? toStream(body, cancel) : null, { status, headers: Object.fromEntries(plain) })
}

function toStream(body: AsyncIterable<Uint8Array>, cancel: () => void): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel,
  })
}
