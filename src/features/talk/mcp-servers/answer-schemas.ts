import { z } from 'zod'
import { McpServer } from './schemas.ts'

/** `GET /v1/mcp/tools`. */
export const BackendMcpToolsAnswer = z.object({
  tools: z.array(
    z.object({
      server: z.string(),
      needsApproval: z.boolean(),
      name: z.string(),
      description: z.string(),
      inputSchema: z.record(z.string(), z.unknown()),
    }),
  ),
  failed: z.array(z.object({ server: z.string(), error: z.string() })),
})

/** `POST /v1/mcp/call`. */
export const BackendMcpCallAnswer = z.object({ text: z.string(), isError: z.boolean() })

/** `POST /api/agents/:id/mcp-servers`. */
export const NewAgentMcpServersAnswer = z.object({ server: McpServer })
