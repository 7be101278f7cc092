import { z } from 'zod'

/**
 * A received payment; amounts are decimal text in `currency`. `refunded` is null without a refund; `refundedTo` says
 * whether it went to the account's credits or is held for the paying address.
 */
export const Receipt = z.object({
  id: z.string(),
  createdAt: z.string(),
  what: z.string(),
  method: z.string(),
  amount: z.string(),
  currency: z.string(),
  reference: z.string().nullable(),
  payer: z.string().nullable(),
  refunded: z.string().nullable(),
  refundedTo: z.enum(['credits', 'payer']).nullable(),
  refundReason: z.string().nullable(),
})
export type Receipt = z.infer<typeof Receipt>

export const ReceiptList = z.object({ receipts: z.array(Receipt) })

export const ReceiptQuery = z.object({
  before: z.iso
    .datetime('before must be a time')
    .transform((text) => new Date(text))
    .optional(),
  limit: z.coerce.number('limit must be a number').int('limit must be a whole number').min(1).max(100).default(20),
})
