import { z } from 'zod'
import { ProvisionRequest } from '../registry/schemas.ts'

const REQUIRED = 'Missing required fields: parentAgentId, name, paymentProof'
const address = (name: string) =>
  z.string(`paymentProof.${name} is required`).regex(/^0x[0-9a-fA-F]{40}$/, `paymentProof.${name} must be an address`)

const SPECIALIZATIONS = ['general', 'ar', 'promo', 'booking', 'support', 'analytics'] as const

/**
 * A payer's claim about their payment. Only the chain is trusted; the claim says where to look. `timestamp` is in
 * seconds or milliseconds.
 */
const PaymentProof = z.object(
  {
    transactionHash: z
      .string('paymentProof.transactionHash is required')
      .max(200, 'paymentProof.transactionHash is too long')
      .startsWith('0x', 'paymentProof.transactionHash must start with 0x'),
    amount: z
      .string('paymentProof.amount must be a decimal text')
      .regex(/^\d{1,30}(\.\d{1,18})?$/, 'paymentProof.amount must be a decimal text'),
    currency: z.string('paymentProof.currency is required').max(100),
    chainId: z.number('paymentProof.chainId must be a number'),
    from: address('from'),
    to: address('to'),
    timestamp: z.number('paymentProof.timestamp must be a number').positive('paymentProof.timestamp must be a time'),
  },
  REQUIRED,
)
export type PaymentProof = z.infer<typeof PaymentProof>

/** `POST /api/agents/clone`. `generation` defaults to the parent's. */
export const CloneRequest = z.object({
  parentAgentId: z.string(REQUIRED).min(1, REQUIRED).max(100, 'parentAgentId is too long'),
  name: z.string(REQUIRED).min(1, REQUIRED).pipe(ProvisionRequest.shape.name),
  specialization: z
    .enum(SPECIALIZATIONS, `Invalid specialization. Supported: ${SPECIALIZATIONS.join(', ')}`)
    .default('general'),
  generation: z
    .number('generation must be a number')
    .int('generation must be a whole number')
    .min(1, 'generation must be at least 1')
    .max(1_000_000, 'generation is too large')
    .optional(),
  paymentProof: PaymentProof,
})
export type CloneRequest = z.infer<typeof CloneRequest>

/** Response of `POST /api/agents/clone`; `walletAddress` is the clone's own new, empty wallet. */
export const Cloned = z.object({
  success: z.literal(true),
  agentId: z.string(),
  walletAddress: z.string(),
  parentAgentId: z.string(),
  generation: z.number(),
  transactionHash: z.string(),
  specialization: z.string(),
  status: z.string(),
  message: z.string(),
})
export type Cloned = z.infer<typeof Cloned>

/** `GET /api/agents/clone`. Signed-in users also get the memo for payments from any wallet. */
export const CloneService = z.object({
  service: z.literal('stead-clone'),
  version: z.string(),
  protocol: z.literal('x402-tempo'),
  clonePrice: z.literal('1.0 pathUSD'),
  chainId: z.number(),
  configured: z.boolean(),
  tokenAddress: z.string().nullable(),
  payTo: z.string().nullable(),
  memo: z.string().optional(),
})
export type CloneService = z.infer<typeof CloneService>
