import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** Starts an external MCP server built with the official SDK, which records calls and headers. */
export function startMcpServer(says = 'It is sunny') {
  const calls: { tool: string; input: unknown }[] = []
  const shown: (string | null)[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      shown.push(request.headers.get('authorization'))
      const mcp = new McpServer({ name: 'weather', version: '1.0.0' })
      const answer = (tool: string) => async (input: unknown) => {
        calls.push({ tool, input })
        return { content: [{ type: 'text' as const, text: says }] }
      }
      const inputSchema = z.object({ city: z.string() })
      mcp.registerTool(
        'forecast',
        { description: 'Tells the weather', inputSchema, annotations: { readOnlyHint: true } },
        answer('forecast'),
      )
      mcp.registerTool('erase', { description: 'Erases a city', inputSchema }, answer('erase'))
      const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      await mcp.connect(transport)
      return transport.handleRequest(request)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}/mcp`,
    calls,
    /** The `Authorization` header of each request. */
    shown,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
