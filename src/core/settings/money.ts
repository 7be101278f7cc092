import { z } from 'zod'
import { days, evmAddress, url } from './forms.ts'

/** Blockchain access and contracts. */
export const CHAINS = {
  BASE_RPC_URL: url
    .optional()
    .describe(
      'RPC endpoint for agent wallets, smart-contract wallets, token gating and attestations; sign-in with plain wallets does not need it',
    ),
  USDC_ADDRESS: evmAddress
    .default('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913')
    .describe('USDC contract on `BASE_RPC_URL`'),
  ENS_RPC_URL: url.optional().describe('Ethereum RPC endpoint for verifying agents by ENS name; unset: 503'),
  EAS_ADDRESS: evmAddress
    .default('0x4200000000000000000000000000000000000021')
    .describe('Attestation contract on `BASE_RPC_URL`'),
  CLONE_RPC_URL: url.optional().describe('RPC endpoint for payments for clones and in pathUSD; unset: 503'),
  CLONE_CHAIN_ID: z.coerce.number().int().positive().default(4217).describe('Chain id of `CLONE_RPC_URL`'),
  CLONE_TOKEN_ADDRESS: evmAddress
    .default('0x20c0000000000000000000000000000000000000')
    .describe('Token of payments for clones, pathUSD'),
  CLONE_PAY_TO: evmAddress.optional().describe('Recipient of payments for clones; unset: 503'),
  TOKEN_GATING_ADDRESS: evmAddress.optional().describe('ERC-20 contract for token gating; unset: 503'),
  TOKEN_GATING_MIN_BALANCE: z.coerce
    .bigint()
    .positive()
    .default(1_000_000_000_000_000_000n)
    .describe('Minimum balance in the smallest unit of the token'),
  TOKEN_GATING_TOKEN: z.string().min(1).default('RAVE').describe('Name of the token in responses'),
}

/** Payments of agents and approvals. */
export const PAYMENTS = {
  X402_GATEWAY_URL: url
    .optional()
    .describe('Payment gateway behind `/api/x402`; unset: the built-in one, which pays from agent wallets'),
  APPROVAL_EXPIRY_MINUTES: z.coerce
    .number()
    .positive()
    .max(10_080)
    .default(60)
    .describe('Minutes until a pending approval is denied; fractions are accepted'),
}

/** Card payments, and on-chain payments for the gateway. */
export const CARDS = {
  STRIPE_SECRET_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('Stripe key for plans, credits and storage; unset: 503, and administrators assign plans'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('Signing secret of `POST /api/webhooks/stripe`, which is required to deliver purchases; unset: 503'),
  STRIPE_API_BASE: url.default('https://api.stripe.com').describe('API of Stripe'),
  GATEWAY_PAY_TO: evmAddress
    .optional()
    .describe(
      'Recipient of on-chain payments for `POST /api/v1/gateway`, in USDC on `BASE_RPC_URL`; unset: credits only',
    ),
  GATEWAY_SETTLER_KEY: z
    .string()
    .regex(/^(?:0x)?[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
    .optional()
    .describe('Private key of the account that submits these payments to the chain and pays the fees'),
  STRIPE_GRACE_DAYS: days(7).describe('Days that a plan continues after a failed payment'),
}
