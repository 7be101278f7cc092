import { z } from 'zod'
import type { PlatformCall } from '../platform-call.ts'
import { defineTool } from './define.ts'

/** Another agent may work as long as a turn takes. */
const TIMEOUT_MS = 540_000

const Agents = z.object({
  agents: z.array(
    z.object({ id: z.string(), name: z.string(), status: z.string(), specialization: z.string().nullable() }),
  ),
})
const Reply = z.object({ reply: z.string() })

/** The other agents of the same owner. */
export function createAgentTools(call: PlatformCall) {
  return {
    list_agents: defineTool({
      description: 'Lists the other agents of your owner.',
      inputSchema: z.object({}),
      execute: (_input, { signal }) => call(Agents, { path: '/v1/agents', signal }),
    }),
    message_agent: defineTool({
      description: 'Says something to another agent of your owner and waits for its reply.',
      inputSchema: z.object({ agentId: z.string().min(1), message: z.string().min(1) }),
      execute: ({ agentId, message }, { signal }) => {
        const path = `/v1/agents/${encodeURIComponent(agentId)}/messages`
        return call(Reply, { path, method: 'POST', body: { message }, timeoutMs: TIMEOUT_MS, isOnce: true, signal })
      },
    }),
  }
}
