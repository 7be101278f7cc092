import { z } from 'zod'
import { parseMicroUsd } from '../../../core/money.ts'

const EVM_ADDRESS = /^0x[0-9a-fA-F]{40}$/
const BAD_LIMIT = 'A limit must be a decimal number of dollars with at most six places, or null'
const MAX_RECIPIENTS = 200

/** Dollars as micro-dollars; null removes the limit. */
const limit = z
  .union([z.string(), z.number(), z.null()], BAD_LIMIT)
  .transform((amount, context) => {
    if (amount === null) return null
    const microUsd = parseMicroUsd(amount)
    if (microUsd !== null) return microUsd
    context.addIssue({ code: 'custom', message: BAD_LIMIT })
    return z.NEVER
  })
  .optional()

const agentId = z
  .string('agentId must be text')
  .min(1, 'agentId must be text')
  .max(100, 'agentId is too long')
  .optional()

export const WalletQuery = z.object({ address: z.string().max(200).optional(), agentId })
export const OfAgentQuery = z.object({ agentId })

/** `POST /api/wallet`. */
export const WalletAction = z.object({
  action: z.enum(['create', 'get_seed', 'export_seed'], 'Invalid action'),
  agentId,
})

/** `POST /api/wallet/create`. */
export const CreateWalletRequest = z.object({
  email: z.string('Email required').trim().min(1, 'Email required').max(254, 'Email required'),
  agentId,
})

/** `POST /api/wallet/cdp`: private keys are rejected. */
export const CdpRequest = z
  .object({ privateKey: z.unknown().optional(), agentId })
  .meta({ examples: [{}, { agentId: 'ada' }] })

/** `PATCH /api/wallet/policy`: omitted fields stay unchanged. */
export const PolicyChange = z
  .object({
    agentId,
    perPayment: limit,
    perDay: limit,
    perMonth: limit,
    approvalAbove: limit,
    recipients: z
      .array(
        z.string().regex(EVM_ADDRESS, 'Recipients must be addresses: 0x and 40 hex digits'),
        'recipients must be a list',
      )
      .max(MAX_RECIPIENTS, `At most ${MAX_RECIPIENTS} recipients`)
      .nullable()
      .optional(),
    frozen: z.boolean('frozen must be true or false').optional(),
  })
  .meta({ examples: [{ perPayment: '5', perDay: '20', approvalAbove: '2.50' }, { frozen: true }] })
export type PolicyChange = z.infer<typeof PolicyChange>

/** `POST /api/wallet/send`: a transfer from the user's own wallet or an agent's. */
export const TransferRequest = z
  .object({
    agentId,
    recipient: z.string('Recipient required').regex(EVM_ADDRESS, 'Invalid recipient address'),
    amount: z.union([z.string(), z.number()], 'Invalid amount').transform((amount, context) => {
      const microUsd = parseMicroUsd(amount)
      if (microUsd !== null && microUsd > 0) return microUsd
      context.addIssue({ code: 'custom', message: 'Invalid amount' })
      return z.NEVER
    }),
    currency: z.enum(['USDC', 'pathUSD'], 'currency must be USDC or pathUSD').default('USDC'),
  })
  .meta({ examples: [{ recipient: '0x52908400098527886E0F7030069857D2E4169EE7', amount: '2.50', currency: 'USDC' }] })
export type TransferRequest = z.infer<typeof TransferRequest>

/** `POST /api/wallet/payments/:id/resolve`. */
export const Resolution = z.object({ status: z.enum(['succeeded', 'failed'], 'status must be succeeded or failed') })

export const PaymentsQuery = z.object({
  agentId,
  limit: z.coerce.number().int().min(1).max(100, 'limit must be at most 100').default(50),
  before: z.string().max(100).optional(),
})

const Asset = z.object({
  address: z.string(),
  name: z.string(),
  symbol: z.string(),
  decimals: z.number(),
  balance: z.string(),
  balanceRaw: z.string(),
  explorerUrl: z.string().nullable(),
})
export type Asset = z.infer<typeof Asset>

/** `GET /api/wallet?address=`: holdings of any address on the USDC chain. */
export const AddressBalances = z.object({
  address: z.string(),
  chain: z.string(),
  chainId: z.number(),
  testnet: z.boolean(),
  explorerUrl: z.string().nullable(),
  nativeBalance: Asset,
  primaryToken: Asset,
  allTokens: z.array(Asset),
  assets: z.array(Asset),
})
export type AddressBalances = z.infer<typeof AddressBalances>

/** Dollars as decimal text; null is unlimited. */
const Policy = z.object({
  perPayment: z.string().nullable(),
  perDay: z.string().nullable(),
  perMonth: z.string().nullable(),
  approvalAbove: z.string().nullable(),
  recipients: z.array(z.string()).nullable(),
  frozen: z.boolean(),
})

export const ManagedWallet = z.object({
  id: z.string(),
  kind: z.enum(['user', 'agent']),
  agentId: z.string().nullable(),
  address: z.string(),
  createdAt: z.string(),
  policy: Policy,
  spentToday: z.string(),
  spentThisMonth: z.string(),
})
export type ManagedWallet = z.infer<typeof ManagedWallet>
export const WalletList = z.object({ wallets: z.array(ManagedWallet) })

/**
 * `GET /api/wallet`: `balance` is USDC as decimal text, null when the chain cannot be reached; `balances` has the
 * reason.
 */
export const WalletState = z.object({
  address: z.string().nullable(),
  balance: z.string().nullable(),
  network: z.string(),
  hasWallet: z.boolean(),
  createdAt: z.string().optional(),
  message: z.string().optional(),
  balances: z
    .array(
      z.object({
        currency: z.string(),
        network: z.string(),
        balance: z.string().nullable(),
        problem: z.string().nullable(),
      }),
    )
    .optional(),
  wallet: ManagedWallet.optional(),
})
export type WalletState = z.infer<typeof WalletState>

export const WalletPayment = z.object({
  id: z.string(),
  kind: z.enum(['transfer', 'upstream', 'authorization']),
  purpose: z.string(),
  agentId: z.string().nullable(),
  recipient: z.string(),
  amount: z.string(),
  currency: z.string(),
  status: z.enum(['awaiting_approval', 'created', 'sent', 'succeeded', 'failed', 'unknown', 'denied']),
  reason: z.string().nullable(),
  transactionHash: z.string().nullable(),
  explorerUrl: z.string().nullable(),
  undoneAt: z.string().nullable(),
  approvalExpiresAt: z.string().nullable(),
  createdAt: z.string(),
  settledAt: z.string().nullable(),
})
export type WalletPayment = z.infer<typeof WalletPayment>
export const PaymentList = z.object({ payments: z.array(WalletPayment), next: z.string().nullable() })
export const OnePayment = z.object({ payment: WalletPayment })

/** `PATCH /api/wallet/policy`. */
export const OneWallet = z.object({ wallet: ManagedWallet })

/** `GET /api/wallet`. */
export const WalletOrBalances = z.union([AddressBalances, WalletState])

/** `POST /api/wallet`. */
export const WalletActionResult = z.union([
  z.object({ address: z.string(), network: z.string(), message: z.string() }),
  z.object({ address: z.string(), network: z.string(), createdAt: z.string(), warning: z.string() }),
])

/** `GET /api/wallet/address`. */
export const WalletAddress = z.union([
  z.object({
    authenticated: z.boolean(),
    address: z.string(),
    network: z.string(),
    type: z.string(),
    source: z.string(),
  }),
  z.object({ authenticated: z.boolean(), address: z.null(), message: z.string() }),
])

/** `GET /api/wallet/create`. */
export const WalletCreation = z.object({
  hasWallet: z.boolean(),
  walletAddress: z.string().nullable(),
  networks: z.array(z.string()),
  required: z.array(z.string()),
})

/** `POST /api/wallet/create`. */
export const CreatedWallet = z.object({
  success: z.literal(true),
  walletAddress: z.string(),
  walletId: z.string(),
  networks: z.array(z.string()),
})

/** `GET /api/wallet/cdp`. */
export const CdpSupport = z.object({ status: z.string(), type: z.string(), supportedChains: z.array(z.string()) })

/** `POST /api/wallet/cdp`. */
export const CdpWallet = z.object({ success: z.literal(true), address: z.string(), network: z.string() })
