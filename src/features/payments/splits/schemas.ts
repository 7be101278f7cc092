import { z } from 'zod'
import { parseMicroUsd } from '../../../core/money.ts'

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
/** 100 percent in millionths of a percent. */
export const WHOLE = 100_000_000
const MAX_RECIPIENTS = 1000

const named = (name: string, max = 100) =>
  z
    .string(`${name} is required`)
    .trim()
    .min(1, `${name} is required`)
    .max(max, `${name} must be at most ${max} characters`)

/** An EVM address in any case. */
export const chainAddress = (name: string) =>
  z
    .string(`${name} must be an address: 0x and 40 hex digits`)
    .regex(ADDRESS, `${name} must be an address: 0x and 40 hex digits`)

/** A percentage in millionths of a percent. */
export const percentage = (name: string) => {
  const message = `${name} must be a percentage from 0 to 100 with at most 6 decimal places`
  return z.union([z.number(message), z.string(message)], message).transform((given, context) => {
    const millionths = parseMicroUsd(given)
    if (millionths !== null && millionths <= WHOLE) return millionths
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
}

/** A positive amount in USDC as decimal text; some clients send a number. */
export const positiveAmount = (name: string) => {
  const message = `${name} must be an amount in USDC above zero with at most 6 decimal places`
  return z.union([z.string(message), z.number(message)], message).transform((given, context) => {
    const microUsd = parseMicroUsd(given)
    if (microUsd !== null && microUsd > 0) return microUsd
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })
}

const badRecipients = `recipients must be a list of 1 to ${MAX_RECIPIENTS} {address, share}`

/** `POST /api/underground/splits`. A user's own request may omit `userId`. */
export const CreateSplitRequest = z
  .object({
    userId: named('userId').optional(),
    agentId: named('agentId'),
    fromAddress: chainAddress('fromAddress'),
    name: named('name', 200),
    totalAmount: positiveAmount('totalAmount'),
    recipients: z
      .array(
        z.object({ address: chainAddress('recipients.address'), share: percentage('recipients.share') }),
        badRecipients,
      )
      .min(1, badRecipients)
      .max(MAX_RECIPIENTS, badRecipients)
      .refine(
        (list) => list.reduce((sum, { share }) => sum + share, 0) === WHOLE,
        'The shares must add up to exactly 100',
      ),
  })
  .meta({
    examples: [
      {
        agentId: 'ada',
        fromAddress: '0x52908400098527886E0F7030069857D2E4169EE7',
        name: 'Summer night',
        totalAmount: '100',
        recipients: [
          { address: '0x52908400098527886E0F7030069857D2E4169EE7', share: '60' },
          { address: '0x8617E340B3D01FA5F11F306F4090FD50E238070D', share: '40' },
        ],
      },
    ],
  })
export type CreateSplitRequest = z.infer<typeof CreateSplitRequest>

export const QueuedSplit = z.object({ success: z.literal(true), splitId: z.number(), status: z.literal('queued') })
export type QueuedSplit = z.infer<typeof QueuedSplit>

/** `skipped`: the amount is zero or below the recipient's minimum. The others are payment statuses. */
const PartStatus = z.enum([
  'queued',
  'skipped',
  'awaiting_approval',
  'created',
  'sent',
  'succeeded',
  'failed',
  'unknown',
  'denied',
])

/** Amounts are decimal text in USDC, shares decimal text in percent. */
export const SplitPart = z.object({
  address: z.string(),
  name: z.string().nullable(),
  share: z.string(),
  amount: z.string(),
  status: PartStatus,
  reason: z.string().nullable(),
  transactionHash: z.string().nullable(),
})
export type SplitPart = z.infer<typeof SplitPart>

export const Split = z.object({
  id: z.number(),
  userId: z.string(),
  agentId: z.string(),
  fromAddress: z.string(),
  name: z.string(),
  trigger: z.string(),
  totalAmount: z.string(),
  status: z.enum(['queued', 'processing', 'settled', 'partially_settled', 'failed']),
  isHeld: z.boolean(),
  reason: z.string().nullable(),
  createdAt: z.string(),
  completedAt: z.string().nullable(),
})
export type Split = z.infer<typeof Split>

export const SplitDetail = Split.extend({ recipients: z.array(SplitPart) })
export type SplitDetail = z.infer<typeof SplitDetail>

/** Newest first; `next` is the `before` of the next page, null on the last. */
export const SplitPage = z.object({ splits: z.array(Split), next: z.number().nullable() })
export type SplitPage = z.infer<typeof SplitPage>

const badBefore = 'before must be a whole number'
export const SplitQuery = z.object({
  before: z.coerce.number(badBefore).int(badBefore).min(1, badBefore).optional(),
})
export type SplitQuery = z.infer<typeof SplitQuery>

/** `POST /api/underground/wallets`. */
export const CreateAgentWalletRequest = z.object({ userId: named('userId'), agentId: named('agentId') })
export type CreateAgentWalletRequest = z.infer<typeof CreateAgentWalletRequest>

export const BalanceQuery = z.object({ userId: named('userId') })

/** `GET /api/underground/splits/:id`. */
export const OneSplit = z.object({ split: SplitDetail })

/** `POST /api/underground/wallets`. */
export const AgentWallet = z.object({ address: z.string(), agentId: z.string(), userId: z.string() })

/** `GET /api/underground/wallets/:address/balance`: dollars as decimal text. */
export const AgentWalletBalance = z.object({ address: z.string(), balance_usdc: z.string() })
