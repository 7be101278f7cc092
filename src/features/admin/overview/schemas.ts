import { z } from 'zod'
import { AgentStatus } from '../../agents/registry/schemas.ts'
import { ChatMessage } from '../../conversations/chat/schemas.ts'

/** An item that needs the user's action, most urgent first. `more` counts the items of a kind that are not listed. */
const Attention = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('agent-down'), agentId: z.string(), name: z.string(), reason: z.string().nullable() }),
  z.object({ kind: z.literal('more-agents-down'), more: z.number() }),
  z.object({ kind: z.literal('approvals'), waiting: z.number() }),
  z.object({ kind: z.literal('payment-due'), graceEndsAt: z.iso.datetime().nullable() }),
  z.object({ kind: z.literal('own-key-failing'), provider: z.string(), reason: z.string().nullable() }),
  z.object({ kind: z.literal('plan-used'), percent: z.number() }),
  z.object({ kind: z.literal('key-used'), keyId: z.string(), name: z.string(), percent: z.number() }),
])
export type Attention = z.infer<typeof Attention>

/** `GET /api/overview`: days are UTC, the last one is today. `backup` is null for users who cannot create one. */
export const Overview = z.object({
  attention: z.array(Attention),
  cost: z.array(z.object({ day: z.string(), costUsd: z.number().nullable(), unpricedCalls: z.number().optional() })),
  agents: z.partialRecord(AgentStatus, z.number()),
  conversations: z.array(
    z.object({
      agentId: z.string(),
      name: z.string(),
      sender: z.enum(['user', 'agent']),
      excerpt: z.string(),
      /** The channel of the message. */
      platform: ChatMessage.shape.platform,
      at: z.iso.datetime(),
    }),
  ),
  steps: z.object({
    model: z.boolean(),
    agent: z.boolean(),
    hello: z.boolean(),
    telegram: z.boolean(),
    backup: z.boolean().nullable(),
  }),
})
export type Overview = z.infer<typeof Overview>
