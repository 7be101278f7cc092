import type { Address, Hex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { z } from 'zod'
import { AppError } from '../../core/errors.ts'
import type { Egress } from '../egress/egress.ts'
import { fetchOver } from '../egress/fetch.ts'

/** A seller's price, in millionths of a dollar. */
export type Demand = { amount: bigint; payTo: Address; validForSeconds: number }

/** A signed authorization to move the money once until `validBefore` (Unix seconds). */
export type PaymentAuthorization = { nonce: Hex; to: Address; amount: bigint; validBefore: number }

type PaidRequest = {
  url: string
  method: string
  headers: Readonly<Record<string, string>>
  body: string | undefined
}

type Payer = {
  account: PrivateKeyAccount
  /** The only accepted chain and token. */
  chainId: number
  token: Address
  maxAmount: bigint
  /** Approves a demand; a throw prevents the signature. */
  allow(demand: Demand): Promise<void>
  /** Records the authorization before it is sent; a throw prevents sending. */
  note(authorization: PaymentAuthorization): Promise<void>
}

/** `transactionHash` is the seller's claim, which only the chain can prove. */
export type PaidAnswer = {
  status: number
  headers: Record<string, string>
  body: string
  transactionHash: string | null
}

const TIMEOUT_MS = 30_000
const MAX_BYTES = 1024 * 1024
/** Limits how long a signature can still be used. */
const MAX_VALID_SECONDS = 600
const SHOWN_HEADERS = ['content-type', 'content-length', 'etag', 'last-modified', 'location', 'retry-after']

const Requirement = z.object({
  scheme: z.literal('exact'),
  network: z.string(),
  asset: z.string(),
  amount: z.string().regex(/^[1-9]\d{0,30}$/),
  payTo: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  maxTimeoutSeconds: z.number().int().positive().max(MAX_VALID_SECONDS),
  extra: z.object({ assetTransferMethod: z.literal('eip3009').optional() }).loose(),
})
const Signed = z.object({
  authorization: z.object({ to: z.string(), value: z.string(), validBefore: z.string(), nonce: z.string() }),
})

/**
 * Sends a request and pays at most once when the seller demands it (x402 version 2, `exact`). Redirects are not
 * followed, so the payment cannot reach another host.
 * @throws errors of `allow` and `note`, AppError `payment_required` for an unsupported demand, EgressError.
 */
export async function fetchPaying(egress: Egress, request: PaidRequest, payer: Payer): Promise<PaidAnswer> {
  const [{ wrapFetchWithPayment, x402Client, decodePaymentResponseHeader }, { ExactEvmScheme }] = await Promise.all([
    import('@x402/fetch'),
    import('@x402/evm/exact/client'),
  ])
  const problem: { error?: unknown } = {}
  const client = new x402Client()
    // `allow` enforces the wallet's limits instead.
    .setSpendControls(false)
    .register(`eip155:${payer.chainId}`, new ExactEvmScheme(payer.account))
    .registerPolicy((_version, requirements) => {
      const payable = requirements.filter((requirement) => isPayable(requirement, payer))
      if (payable.length === 0) problem.error = notPayable()
      return payable
    })
    .onBeforePaymentCreation(({ selectedRequirements }) =>
      noting(problem, () => payer.allow(toDemand(Requirement.parse(selectedRequirements)))),
    )
    .onAfterPaymentCreation(({ paymentPayload }) =>
      noting(problem, () => payer.note(toAuthorization(paymentPayload.payload))),
    )
  try {
    const ask = fetchOver(egress, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }, (error) => {
      problem.error = error
    })
    const response = await wrapFetchWithPayment(ask, client)(request.url, toInit(request))
    return await toAnswer(response, decodePaymentResponseHeader)
  } catch (error) {
    // Unwraps the original error from the library's.
    if (problem.error !== undefined) throw problem.error
    if (error instanceof AppError) throw error
    throw new AppError(
      'payment_required',
      'The seller asks for a payment that cannot be read',
      { code: 'NOT_PAYABLE' },
      { cause: error },
    )
  }
}

function isPayable(requirement: unknown, { chainId, token, maxAmount }: Payer): boolean {
  const { success, data } = Requirement.safeParse(requirement)
  if (!success || data.network !== `eip155:${chainId}`) return false
  return data.asset.toLowerCase() === token.toLowerCase() && BigInt(data.amount) <= maxAmount
}

function notPayable(): AppError {
  return new AppError('payment_required', 'The seller asks for more, or for another token or chain, than is paid', {
    code: 'NOT_PAYABLE',
  })
}

function toDemand({ amount, payTo, maxTimeoutSeconds }: z.infer<typeof Requirement>): Demand {
  return { amount: BigInt(amount), payTo: `0x${payTo.slice(2).toLowerCase()}`, validForSeconds: maxTimeoutSeconds }
}

function toAuthorization(payload: unknown): PaymentAuthorization {
  const { to, value, validBefore, nonce } = Signed.parse(payload).authorization
  return {
    to: `0x${to.slice(2).toLowerCase()}`,
    amount: BigInt(value),
    validBefore: Number(validBefore),
    nonce: `0x${nonce.slice(2)}`,
  }
}

async function noting(problem: { error?: unknown }, task: () => Promise<void>): Promise<void> {
  try {
    await task()
  } catch (error) {
    problem.error = error
    throw error
  }
}

function toInit({ method, headers, body }: PaidRequest): RequestInit {
  return { method, headers, ...(body !== undefined && { body }) }
}

async function toAnswer(response: Response, decode: (header: string) => { transaction?: string }): Promise<PaidAnswer> {
  const settled = response.headers.get('payment-response')
  const headers = SHOWN_HEADERS.flatMap((name) => {
    const value = response.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  return {
    status: response.status,
    headers: Object.fromEntries(headers),
    body: await response.text(),
    transactionHash: settled === null ? null : readHash(settled, decode),
  }
}

/** The seller's header is not trusted. */
function readHash(header: string, decode: (header: string) => { transaction?: string }): string | null {
  try {
    const { transaction } = decode(header)
    return transaction !== undefined && /^0x[0-9a-fA-F]{64}$/.test(transaction) ? transaction : null
  } catch {
    return null
  }
}
