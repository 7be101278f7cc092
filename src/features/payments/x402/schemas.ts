import { z } from 'zod'

/** The body of `POST /api/x402`: each action checks its own fields, in the order of Interface 4.7. */
export const X402Request = z
  .looseObject({ action: z.unknown().optional(), agentId: z.unknown().optional() }, 'Invalid request')
  .meta({
    examples: [
      { action: 'endpoints' },
      { action: 'fitness', agentId: 'ada' },
      { action: 'join-colony', agentId: 'ada', walletAddress: '0x52908400098527886E0F7030069857D2E4169EE7' },
      { action: 'pay', agentId: 'ada', recipient: '0x52908400098527886E0F7030069857D2E4169EE7', amount: 1 },
    ],
  })
export type X402Request = z.infer<typeof X402Request>

/** Scores are 0 to 100, and 0 where nothing has happened yet: `events` says how much has. */
const Details = z.record(z.string(), z.number())

export const Fitness = z.object({
  success: z.literal(true),
  agentId: z.string(),
  score: z.number(),
  tier: z.string(),
  details: Details,
  /** From how many events each dimension is told; only of agents that are rated here. */
  events: z.record(z.string(), z.number()).optional(),
  registered: z.boolean().optional(),
})
export type Fitness = z.infer<typeof Fitness>

/** `rate` is US dollars for a call, `discount` the per cent that are off the list price of it. */
export const Pricing = z.object({
  success: z.literal(true),
  agentId: z.string(),
  tier: z.string(),
  pricing: z.object({ rate: z.number(), discount: z.number() }),
  fitness: z.object({ score: z.number(), tier: z.string() }),
})
export type Pricing = z.infer<typeof Pricing>

export const EndpointEntry = z.object({ slug: z.string(), description: z.string(), price: z.string() })
export type EndpointEntry = z.infer<typeof EndpointEntry>
export const EndpointList = z.object({ success: z.literal(true), endpoints: z.array(EndpointEntry) })

/** What the answer of `pay` says besides what the gateway itself says. */
export const Paid = z.looseObject({
  success: z.literal(true),
  paymentId: z.string(),
  status: z.enum(['succeeded', 'awaiting_approval']),
})

/** What the gateway says, ours or somebody else's, as it says it. */
export const GatewayWords = z.record(z.string(), z.unknown())

/** `POST /api/x402`, by action. */
export const X402Result = z.union([EndpointList, Fitness, Pricing, GatewayWords])
