import { AppError } from '../../../core/errors.ts'
import { formatMicroUsd, parseMicroUsd } from '../../../core/money.ts'
import type { X402Request } from './schemas.ts'

/** What is to be paid, checked and counted in micro-dollars. */
export type PayRequest = {
  agentId: string
  amountMicroUsd: number
  recipient: string
  currency: string
  endpoint: string | null
  method: string
  /** x402's payment identifier: the same one is the same payment. */
  identifier: string | null
}

/** Interface 8: at most 100. */
const MAX_MICRO_USD = 100_000_000
const EVM_RECIPIENT = /^0x[0-9a-fA-F]{40}$/
const BASE58_RECIPIENT = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
const IDENTIFIER = /^[A-Za-z0-9_-]{16,128}$/
const MAX_TEXT = 200

/** In the order and the words of Interface 4.7. @throws AppError `invalid`. */
export function parsePayRequest(body: X402Request, agentId: string): PayRequest {
  const amountMicroUsd = parseAmount(body.amount)
  const { recipient } = body
  if (typeof recipient !== 'string' || recipient === '') throw new AppError('invalid', 'Recipient required')
  if (!EVM_RECIPIENT.test(recipient) && !BASE58_RECIPIENT.test(recipient)) {
    throw new AppError('invalid', 'Invalid recipient address')
  }
  return {
    agentId,
    amountMicroUsd,
    recipient,
    currency: readText(body, 'currency') ?? 'USDC',
    endpoint: readText(body, 'endpoint'),
    method: readText(body, 'method') ?? 'default',
    identifier: readIdentifier(body),
  }
}

/**
 * A JSON number counts by its digits, never as a fraction of two: what has more than six decimals or an exponent is refused.
 * @throws AppError `invalid`.
 */
function parseAmount(amount: unknown): number {
  if (typeof amount !== 'number' || !Number.isFinite(amount) || !(amount > 0))
    throw new AppError('invalid', 'Invalid amount')
  if (amount > MAX_MICRO_USD / 1_000_000) {
    throw new AppError('invalid', 'Amount exceeds $100 limit. Contact support for higher limits.')
  }
  const microUsd = parseMicroUsd(amount)
  if (microUsd === null || microUsd <= 0) throw new AppError('invalid', 'Invalid amount')
  return microUsd
}

/** What the gateway is told: its amount is a JSON number with the very digits that were given. */
export function toUpstreamOrder({ agentId, amountMicroUsd, currency, recipient, endpoint, method }: PayRequest) {
  const amount = Number(formatMicroUsd(amountMicroUsd))
  return { agentId, amount, currency, recipient, ...(endpoint !== null && { endpoint }), method }
}

function readText(body: X402Request, name: string): string | null {
  const value = body[name]
  if (value === undefined || value === null || value === '') return null
  if (typeof value !== 'string' || value.length > MAX_TEXT) throw new AppError('invalid', `${name} must be text`)
  return value
}

/** `extensions["payment-identifier"].info.id`, as x402 has it. */
function readIdentifier({ extensions }: X402Request): string | null {
  const info = readObject(readObject(extensions)?.['payment-identifier'])?.info
  const id = readObject(info)?.id
  if (id === undefined) return null
  if (typeof id === 'string' && IDENTIFIER.test(id)) return id
  throw new AppError('invalid', 'A payment identifier has 16 to 128 letters, digits, dashes and underscores')
}

function readObject(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null ? { ...value } : null
}
