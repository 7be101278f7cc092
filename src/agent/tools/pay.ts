import { z } from 'zod'
import type { PlatformCall } from '../platform-call.ts'
import { defineTool } from './define.ts'
import { toPart } from './parts.ts'

const TIMEOUT_MS = 60_000

const Answer = z.object({
  response: z.object({ status: z.number(), body: z.string() }).nullish(),
  payment: z.object({ status: z.string(), amount: z.string(), currency: z.string() }).nullish(),
})

/** Requests that cost money, from the agent's own wallet and within what its owner allows that. */
export function createPayTool(call: PlatformCall) {
  return {
    paid_request: defineTool({
      description:
        'Makes an HTTP request to a service that asks for money, and pays it from your wallet, at most maxAmount dollars. Your owner is asked first each time, so this may take long.',
      inputSchema: z.object({
        url: z.string(),
        method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('GET'),
        body: z.string().optional(),
        maxAmount: z.string().describe('US dollars, such as "0.05"'),
      }),
      needsOwner: () => true,
      execute: async (input, { signal }) => {
        const asked = {
          path: '/v1/paid-fetch',
          method: 'POST',
          body: input,
          timeoutMs: TIMEOUT_MS,
          isOnce: true,
          signal,
        }
        const { response, payment } = await call(Answer, asked)
        return { payment, ...(response && { status: response.status, ...toPart(response.body, 0) }) }
      },
    }),
  }
}
