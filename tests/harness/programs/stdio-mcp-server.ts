/** An MCP server over standard input and output, built with the official SDK. */
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

if (process.env.FAILS) {
  console.error('there is no license')
  process.exit(1)
}
const server = new McpServer({ name: 'notes', version: '1.0.0' })
const inputSchema = z.object({ text: z.string() })
const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })
let calls = 0

const description = process.env.ECHO_DESCRIPTION ?? 'Says it again'
server.registerTool('echo', { description, inputSchema }, async ({ text }) => said(text))
server.registerTool('count', { description: 'Counts', inputSchema }, async () => said(String(++calls)))
server.registerTool('secret', { description: 'Tells', inputSchema }, async ({ text }) =>
  said(process.env[text] ?? 'none'),
)
server.registerTool('pid', { description: 'Tells', inputSchema }, async () => said(String(process.pid)))
server.registerTool('hang', { description: 'Waits', inputSchema }, () => new Promise(() => undefined))
server.registerTool('die', { description: 'Ends', inputSchema }, () => process.exit(3))
await server.connect(new StdioServerTransport())
