import { z } from 'zod'

/**
 * `GET /api/v1/gateway`: plugins on sale; `onChain` has the terms of payments without an account, null without a chain.
 */
export const GatewayOffer = z.object({
  plugins: z.array(z.object({ id: z.string(), name: z.string(), description: z.string(), price: z.string() })),
  onChain: z.object({ chainId: z.number(), token: z.string(), payTo: z.string() }).nullable(),
})

/** `POST /api/v1/gateway`: the plugin's result and the payment; `receiptId` is the id of its receipt. */
export const GatewayResult = z.object({
  plugin: z.string(),
  message: z.string(),
  timestamp: z.string(),
  result: z.record(z.string(), z.unknown()),
  payment: z.object({
    method: z.string(),
    amount: z.string(),
    discount: z.number(),
    receipt: z.string().nullable(),
    receiptId: z.string(),
  }),
})
