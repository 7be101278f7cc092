import { z } from 'zod'

/** Body of `POST /api/x402`: each action validates its own fields. */
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

/** Scores from 0 to 100, 0 without events. */
const Details = z.record(z.string(), z.number())

export const Fitness = z.object({
  success: z.literal(true),
  agentId: z.string(),
  score: z.number(),
  tier: z.string(),
  details: Details,
  /** Number of events per dimension; only with the built-in gateway. */
  events: z.record(z.string(), z.number()).optional(),
  registered: z.boolean().optional(),
})
export type Fitness = z.infer<typeof Fitness>

/** `rate` is US dollars per call, `discount` the percentage off the list price. */
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

/** Fields of `pay` in addition to the gateway's. */
export const Paid = z.looseObject({
  success: z.literal(true),
  paymentId: z.string(),
  status: z.enum(['succeeded', 'awaiting_approval']),
})

/** Response of the gateway, unchanged. */
export const GatewayWords = z.record(z.string(), z.unknown())

/** `POST /api/x402`, by action. */
export const X402Result = z.union([EndpointList, Fitness, Pricing, GatewayWords])
