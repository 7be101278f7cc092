import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { createChainReader, loadViem } from '../chain/reader.ts'
import { createSettler, type Settler, type TransferAuthorization } from './settler.ts'

type ChainChargesOptions = {
  rpcUrl: string | undefined
  chainId: number
  token: string
  payTo: string | undefined
  /** Key of the account that broadcasts payments and pays their fees. */
  settlerKey: string | undefined
  /** Signs challenges, so only this server's challenges are accepted. */
  secretKey: string
  /** Public URL of the platform. */
  appUrl: string
}

/** A signed payment; the chain accepts `nonce` once. */
export type SignedPayment = {
  payer: string
  nonce: string
  amountMicros: number
  protocol: 'mpp' | 'x402'
  authorization: TransferAuthorization
}

/** The unverified signature of a request. */
export type ShownSignature = { payer: string; nonce: string; signature: string }

/**
 * The payment, or a challenge with headers and, after a bad credential, the reason and the received signature, which
 * may have paid before it expired.
 */
export type Charge =
  | { isPaid: true; payment: SignedPayment & { reference: string }; sealed: (response: Response) => Response }
  | { isPaid: false; headers: Headers; reason: string | null; shown: ShownSignature | null }

export type ChainCharges = {
  readonly terms: { chainId: number; token: string; payTo: string } | null
  /**
   * Answers an unpaid request with a challenge and passes a signed payment to `settle`.
   * @throws AppError `unavailable` NOT_CONFIGURED.
   */
  charge(request: Request, price: { amount: string; description: string }, settle: Settle): Promise<Charge>
  /** Creates the settler. @throws AppError `unavailable` NOT_CONFIGURED. */
  openSettler(): Promise<Settler>
}
/** Returns the transaction hash. @throws AppError when the payment fails. */
type Settle = (payment: SignedPayment) => Promise<string>

const TOKEN = ['function name() view returns (string)', 'function version() view returns (string)'] as const
const DECIMALS = 6

/** Accepts signed payments (EIP-3009) through MPP and x402 version 2, scheme `exact`. */
export function createChainCharges(options: ChainChargesOptions, deps: { log: Log }): ChainCharges {
  const { rpcUrl, chainId, payTo, settlerKey } = options
  const missing = [
    ...(rpcUrl ? [] : ['BASE_RPC_URL']),
    ...(payTo ? [] : ['GATEWAY_PAY_TO']),
    ...(settlerKey ? [] : ['GATEWAY_SETTLER_KEY']),
  ]
  const isReady = missing.length === 0
  const requireReady = (): Ready => {
    if (isReady && rpcUrl && payTo && settlerKey) return { ...options, rpcUrl, payTo, settlerKey }
    const message = `Payment on chain is not configured: set ${missing.join(' and ')}`
    throw new AppError('unavailable', message, { code: 'NOT_CONFIGURED' })
  }
  let opened: ReturnType<typeof openChannel> | undefined
  let settler: Promise<Settler> | undefined
  return {
    terms: isReady && payTo ? { chainId, token: options.token, payTo } : null,
    async charge(request, price, settle) {
      opened ??= openChannel(requireReady()).catch((error: unknown) => {
        opened = undefined
        throw error
      })
      return (await opened)(request, price, settle, deps.log)
    },
    async openSettler() {
      settler ??= createSettler(requireReady())
      return settler
    },
  }
}

type Ready = ChainChargesOptions & { rpcUrl: string; payTo: string; settlerKey: string }

/** Payers sign the token's name and version, so read them from the contract. */
async function openChannel(options: Ready) {
  const [{ Mppx, evm }, { Errors }, viem] = await Promise.all([import('mppx/server'), import('mppx'), loadViem()])
  const read = createChainReader({ rpcUrl: options.rpcUrl, chainId: options.chainId })
  const abi = viem.parseAbi(TOKEN)
  const [currency, recipient] = [viem.getAddress(options.token), viem.getAddress(options.payTo)]
  const authorization = await read(async (client) => ({
    name: await client.readContract({ address: currency, abi, functionName: 'name' }),
    version: await client.readContract({ address: currency, abi, functionName: 'version' }),
  }))

  return async (
    request: Request,
    { amount, description }: { amount: string; description: string },
    settle: Settle,
    log: Log,
  ): Promise<Charge> => {
    let paid: (SignedPayment & { reference: string }) | undefined
    let problem: AppError | undefined
    const method = evm.charge({
      currency,
      recipient,
      chainId: options.chainId,
      decimals: DECIMALS,
      authorization,
      settle: async ({ payload }) => {
        const payment: SignedPayment = {
          payer: payload.from.toLowerCase(),
          nonce: payload.nonce.toLowerCase(),
          amountMicros: Number(payload.value),
          protocol: request.headers.has('payment-signature') ? 'x402' : 'mpp',
          authorization: pickAuthorization(payload),
        }
        const reference = await settle(payment).catch((error: unknown) => {
          problem = error instanceof AppError ? error : unknownOutcome(error)
          log.warn({ error: errorMessage(error), payer: payment.payer }, 'a payment was not settled')
          throw new Errors.VerificationFailedError({ reason: problem.message })
        })
        paid = { ...payment, reference }
        return { reference }
      },
    })
    const mppx = Mppx.create({ methods: [method], secretKey: options.secretKey, realm: new URL(options.appUrl).host })
    const charged = await mppx.charge({ amount, description })(request)
    if (problem) throw problem
    if (charged.status === 200 && paid) {
      return { isPaid: true, payment: paid, sealed: (response) => charged.withReceipt(response) }
    }
    if (charged.status !== 402) throw new AppError('internal', 'A payment was taken without being noted')
    const reason = await readReason(charged.challenge)
    return { isPaid: false, headers: charged.challenge.headers, reason, shown: await readShown(request) }
  }
}

/** The payment may have settled; retrying with the same signature is safe. */
function unknownOutcome(cause: unknown): AppError {
  const message = 'The payment could not be settled. Show the same one again in a moment.'
  return new AppError('unavailable', message, { code: 'PAYMENT_UNKNOWN', retryAfter: '5' }, { cause })
}

async function readReason(challenge: Response): Promise<string | null> {
  if (!challenge.headers.get('content-type')?.includes('problem+json')) return null
  const problem: unknown = await challenge.json()
  return typeof problem === 'object' && problem && 'detail' in problem ? String(problem.detail) : null
}

const Mpp = z.object({ from: z.string(), nonce: z.string(), signature: z.string() })
const X402 = z.object({
  payload: z.object({ authorization: z.object({ from: z.string(), nonce: z.string() }), signature: z.string() }),
})

async function readShown(request: Request): Promise<ShownSignature | null> {
  const header = request.headers.get('payment-signature')
  const shown = header === null ? await readMpp(request) : readX402(header)
  return shown && { payer: shown.from.toLowerCase(), nonce: shown.nonce.toLowerCase(), signature: shown.signature }
}

async function readMpp(request: Request): Promise<z.infer<typeof Mpp> | null> {
  const { Credential } = await import('mppx')
  try {
    return Mpp.safeParse(Credential.fromRequest(request).payload).data ?? null
  } catch {
    // An unreadable credential was rejected with a reason earlier.
    return null
  }
}

function readX402(header: string): z.infer<typeof Mpp> | null {
  try {
    const parsed = X402.safeParse(JSON.parse(Buffer.from(header, 'base64').toString()))
    return parsed.success ? { ...parsed.data.payload.authorization, signature: parsed.data.payload.signature } : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function pickAuthorization(payload: TransferAuthorization): TransferAuthorization {
  const { from, to, value, validAfter, validBefore, nonce, signature } = payload
  return { from, to, value, validAfter, validBefore, nonce, signature }
}
