import type { Hex } from 'viem'
import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { createChainReader, loadViem, type ReadChain } from '../chain/reader.ts'

export type ChainChargesOptions = {
  rpcUrl: string | undefined
  chainId: number
  token: string
  payTo: string | undefined
  /** The account that takes signed payments to the chain, and pays the fees of that. */
  settlerKey: string | undefined
  /** Signs challenges, so that only ours are answered. */
  secretKey: string
  /** The address under which callers find us. */
  appUrl: string
}

/** A payment that somebody signed: `nonce` is used once on the chain. */
export type SignedPayment = { payer: string; nonce: string; amountMicros: number; protocol: 'mpp' | 'x402' }

/** What was paid, or the challenge to pay, with its headers and, after a bad credential, the reason. */
export type Charge =
  | { isPaid: true; payment: SignedPayment & { reference: string }; sealed: (response: Response) => Response }
  | { isPaid: false; headers: Headers; reason: string | null }

export type ChainCharges = {
  readonly terms: { chainId: number; token: string; payTo: string } | null
  /**
   * Answers a request that has no payment with a challenge, and settles one that has: `settle` is given what is signed, and
   * takes it to the chain by `send` unless it was before. @throws AppError `unavailable` NOT_CONFIGURED.
   */
  charge(request: Request, price: { amount: string; description: string }, settle: Settle): Promise<Charge>
}
/** @returns the transaction. @throws AppError when it did not pay. */
export type Settle = (payment: SignedPayment, send: () => Promise<string>) => Promise<string>

const TOKEN = [
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
] as const
const DECIMALS = 6
const RECEIPT_TIMEOUT_MS = 60_000

/** Payments by signature (EIP-3009), asked for and taken as MPP and as x402, version 2, scheme `exact`. */
export function createChainCharges(options: ChainChargesOptions, deps: { log: Log }): ChainCharges {
  const { rpcUrl, chainId, payTo, settlerKey } = options
  const missing = [
    ...(rpcUrl ? [] : ['BASE_RPC_URL']),
    ...(payTo ? [] : ['GATEWAY_PAY_TO']),
    ...(settlerKey ? [] : ['GATEWAY_SETTLER_KEY']),
  ]
  const isReady = missing.length === 0
  let opened: ReturnType<typeof open> | undefined
  return {
    terms: isReady && payTo ? { chainId, token: options.token, payTo } : null,
    async charge(request, price, settle) {
      if (!isReady || !rpcUrl || !payTo || !settlerKey) {
        const message = `Payment on chain is not configured: set ${missing.join(' and ')}`
        throw new AppError('unavailable', message, { code: 'NOT_CONFIGURED' })
      }
      opened ??= open({ ...options, rpcUrl, payTo, settlerKey }).catch((error: unknown) => {
        opened = undefined
        throw error
      })
      return (await opened)(request, price, settle, deps.log)
    },
  }
}

type Ready = ChainChargesOptions & { rpcUrl: string; payTo: string; settlerKey: string }

/** The name and version of the token are part of what payers sign: the token itself says them. */
async function open(options: Ready) {
  const [{ Mppx, evm }, { Errors }, viem] = await Promise.all([import('mppx/server'), import('mppx'), loadViem()])
  const read = createChainReader({ rpcUrl: options.rpcUrl, chainId: options.chainId })
  const abi = viem.parseAbi(TOKEN)
  const [currency, recipient] = [viem.getAddress(options.token), viem.getAddress(options.payTo)]
  const authorization = await read(async (client) => ({
    name: await client.readContract({ address: currency, abi, functionName: 'name' }),
    version: await client.readContract({ address: currency, abi, functionName: 'version' }),
  }))
  const send = await createSettler(options, read)

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
        }
        const reference = await settle(payment, () => send(payload)).catch((error: unknown) => {
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
    return { isPaid: false, headers: charged.challenge.headers, reason: await readReason(charged.challenge) }
  }
}

/** It may have been paid all the same: the same signature shown again later tells. */
function unknownOutcome(cause: unknown): AppError {
  const message = 'The payment could not be settled. Show the same one again in two minutes.'
  return new AppError('unavailable', message, { code: 'PAYMENT_UNKNOWN', retryAfter: '120' }, { cause })
}

async function readReason(challenge: Response): Promise<string | null> {
  if (!challenge.headers.get('content-type')?.includes('problem+json')) return null
  const problem: unknown = await challenge.json()
  return typeof problem === 'object' && problem && 'detail' in problem ? String(problem.detail) : null
}

type Authorization = {
  from: string
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
  signature: string
}

/** Sends one payment after another: transactions of one account have to follow each other. */
async function createSettler(options: Ready, read: ReadChain): Promise<(payload: Authorization) => Promise<string>> {
  const viem = await loadViem()
  const { privateKeyToAccount } = await import('viem/accounts')
  const account = privateKeyToAccount(toHex(options.settlerKey))
  const wallet = viem.createWalletClient({ account, transport: viem.http(options.rpcUrl) })
  const abi = viem.parseAbi(TOKEN)
  let last: Promise<unknown> = Promise.resolve()
  const isRevert = (error: unknown) => error instanceof viem.ContractFunctionRevertedError
  const submit = async ({ from, to, value, validAfter, validBefore, nonce, signature }: Authorization) => {
    const { r, s, yParity } = viem.parseSignature(toHex(signature))
    const times = [BigInt(value), BigInt(validAfter), BigInt(validBefore)] as const
    const args = [viem.getAddress(from), viem.getAddress(to), ...times, toHex(nonce), 27 + yParity, r, s] as const
    const call = {
      address: viem.getAddress(options.token),
      abi,
      functionName: 'transferWithAuthorization',
      args,
    } as const
    // What would revert is not sent: it would cost a fee and pay nothing.
    const isRefused = await read((client) =>
      client.simulateContract({ ...call, account }).then(
        () => false,
        (error: unknown) => {
          if (error instanceof viem.BaseError && error.walk(isRevert) !== null) return true
          throw error
        },
      ),
    )
    if (isRefused) throw new AppError('payment_required', 'The payment cannot be taken', { code: 'PAYMENT_REFUSED' })
    return wallet.writeContract({ ...call, chain: null })
  }
  return async (payload) => {
    const sent = last.then(() => submit(payload))
    last = sent.catch(() => undefined)
    const hash = await sent
    const receipt = await read((client) => client.waitForTransactionReceipt({ hash, timeout: RECEIPT_TIMEOUT_MS }))
    if (receipt.status === 'success') return hash
    throw new AppError('payment_required', 'The payment failed on the chain', { code: 'PAYMENT_REFUSED' })
  }
}

function toHex(text: string): Hex {
  return `0x${text.replace(/^0x/, '')}`
}
