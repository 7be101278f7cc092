import { z } from 'zod'

/** `GET /api/v1/gateway`. */
export const GatewayAnswer = z.object({
  plugins: z.array(z.object({ id: z.string(), name: z.string(), description: z.string(), price: z.string() })),
  onChain: z.object({ chainId: z.number(), token: z.string(), payTo: z.string() }).nullable(),
})

/** `POST /api/v1/gateway`. */
export const NewGatewayAnswer = z.object({
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
