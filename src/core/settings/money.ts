import { z } from 'zod'
import { days, evmAddress, url } from './forms.ts'

/** Access to chains, and the contracts on them. */
export const CHAINS = {
  BASE_RPC_URL: url
    .optional()
    .describe(
      'Chain access for agents’ wallets, wallets that are contracts, token gating and attestations; plain wallets of people do not need it',
    ),
  USDC_ADDRESS: evmAddress
    .default('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913')
    .describe('USDC on `BASE_RPC_URL`, which agents’ wallets hold and pay with'),
  ENS_RPC_URL: url.optional().describe('Main chain, for the verification of agents by ENS name; unset: 503'),
  EAS_ADDRESS: evmAddress
    .default('0x4200000000000000000000000000000000000021')
    .describe('Contract of attestations on `BASE_RPC_URL`'),
  CLONE_RPC_URL: url
    .optional()
    .describe('Where payments for clones are looked up and agents’ wallets pay in pathUSD; unset: 503'),
  CLONE_CHAIN_ID: z.coerce.number().int().positive().default(4217).describe('Chain of these payments'),
  CLONE_TOKEN_ADDRESS: evmAddress
    .default('0x20c0000000000000000000000000000000000000')
    .describe('Token of these payments, pathUSD'),
  CLONE_PAY_TO: evmAddress.optional().describe('Whom these payments go to; unset: 503'),
  TOKEN_GATING_ADDRESS: evmAddress.optional().describe('ERC-20 contract whose holders pass; unset: 503'),
  TOKEN_GATING_MIN_BALANCE: z.coerce
    .bigint()
    .positive()
    .default(1_000_000_000_000_000_000n)
    .describe('Smallest balance that passes, in its smallest unit'),
  TOKEN_GATING_TOKEN: z.string().min(1).default('RAVE').describe('Name of the token in answers'),
}

/** Payments of agents, and what waits for an approval. */
export const PAYMENTS = {
  X402_GATEWAY_URL: url
    .optional()
    .describe('Payment gateway behind `/api/x402`; unset: the built-in one, which pays from agents’ wallets'),
  APPROVAL_EXPIRY_MINUTES: z.coerce
    .number()
    .positive()
    .max(10_080)
    .default(60)
    .describe('Minutes until what waits for an approval is denied; fractions are accepted'),
}

/** Payments by card, and those on chain for the gateway. */
export const CARDS = {
  STRIPE_SECRET_KEY: z
    .string()
    .min(1)
    .optional()
    .describe('Plans, credits and storage by card; unset: 503, and plans are given by an administrator'),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .min(1)
    .optional()
    .describe('Signing secret of `POST /api/webhooks/stripe`, which alone gives what was paid; unset: 503'),
  STRIPE_API_BASE: url.default('https://api.stripe.com').describe('Where that service is asked'),
  GATEWAY_PAY_TO: evmAddress
    .optional()
    .describe(
      'Whom payments on chain for `POST /api/v1/gateway` go to, in USDC on `BASE_RPC_URL`; unset: credits only',
    ),
  GATEWAY_SETTLER_KEY: z
    .string()
    .regex(/^(?:0x)?[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
    .optional()
    .describe('Key of the account that takes these payments to the chain, and pays the fees of that'),
  STRIPE_GRACE_DAYS: days(7).describe('Days for which a plan goes on when its payment has failed'),
}
