import { z } from 'zod'

/** `POST /v1/paid-fetch`. */
export const BackendPaidFetchAnswer = z.object({
  response: z.object({ status: z.number(), headers: z.record(z.string(), z.string()), body: z.string() }).nullable(),
  payment: z
    .object({
      id: z.string(),
      kind: z.enum(['transfer', 'upstream', 'authorization']),
      purpose: z.string(),
      agentId: z.string().nullable(),
      recipient: z.string(),
      amount: z.string(),
      currency: z.string(),
      status: z.enum(['unknown', 'failed', 'awaiting_approval', 'created', 'sent', 'succeeded', 'denied']),
      reason: z.string().nullable(),
      transactionHash: z.string().nullable(),
      explorerUrl: z.string().nullable(),
      undoneAt: z.string().nullable(),
      approvalExpiresAt: z.string().nullable(),
      createdAt: z.string(),
      settledAt: z.string().nullable(),
    })
    .nullable(),
})
