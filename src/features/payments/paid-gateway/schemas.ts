import { z } from 'zod'

/** `GET /api/v1/gateway`: what is for sale; `onChain` is where one pays without an account, null where nobody can. */
export const GatewayOffer = z.object({
  plugins: z.array(z.object({ id: z.string(), name: z.string(), description: z.string(), price: z.string() })),
  onChain: z.object({ chainId: z.number(), token: z.string(), payTo: z.string() }).nullable(),
})

/** `POST /api/v1/gateway`: what the plugin made, and what was paid for it; `receiptId` finds it among the receipts. */
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
