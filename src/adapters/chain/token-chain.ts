import type { Address, Hex, PublicClient, TransactionReceipt } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { AppError } from '../../core/errors.ts'
import { createChainReader, findReceipt, loadViem, notConfigured, type ReadChain } from './reader.ts'

/** Tokens held by platform wallets; both have six decimals. */
export const CURRENCIES = ['USDC', 'pathUSD'] as const
export type Currency = (typeof CURRENCIES)[number]

/** Public chain parameters for wallets. `network` is the chain's common name, or `eip155:<id>`. */
export type TokenTerms = {
  currency: Currency
  chainId: number
  network: string
  isTestnet: boolean
  explorerUrl: string | null
  nativeSymbol: string
  token: Address
  isConfigured: boolean
}

/** Balances of an address, in the smallest units. */
export type Holdings = { token: bigint; native: bigint }

type TransferOrder = { to: Address; amount: bigint; nonce: number }

/** A signed transaction; anyone who has `raw` can broadcast it but not change it. */
type SignedTransfer = { raw: Hex; hash: Hex }

/** Result of a broadcast; an ambiguous answer throws instead. */
type Broadcast = { isTaken: true } | { isTaken: false; reason: string }

/** Current state of a transaction on the chain. `nextNonce` is the sender's transaction count. */
export type Standing =
  | { isMined: true; hasPaid: boolean; blockNumber: number; blockHash: Hex; confirmations: number }
  | { isMined: false; nextNonce: number }

/**
 * One token on one chain. Every method throws AppError `unavailable` when the chain is unreachable or not configured.
 */
export type TokenChain = {
  readonly terms: TokenTerms
  /** @throws AppError `unavailable` NOT_CONFIGURED with the name of the missing setting. */
  requireConfigured(): void
  readHoldings(owner: Address): Promise<Holdings>
  /** Returns the sender's next nonce, counting pending transactions. */
  readNextNonce(owner: Address): Promise<number>
  /** Signs without broadcasting. @throws AppError `payment_required` when the sender's balance is too low. */
  sign(account: PrivateKeyAccount, order: TransferOrder): Promise<SignedTransfer>
  /** Broadcasts a transaction; idempotent, because the chain accepts it once. */
  broadcast(raw: Hex): Promise<Broadcast>
  /** Returns whether an EIP-3009 authorization was used, with the chain's time in Unix seconds. */
  findAuthorization(owner: Address, nonce: Hex): Promise<{ isUsed: boolean; chainTime: number }>
  findStanding(transfer: { hash: Hex; from: Address; to: Address; amount: bigint }): Promise<Standing>
}

type TokenChainOptions = {
  currency: Currency
  chainId: number
  rpcUrl: string | undefined
  token: string
  /** Environment variable that holds the RPC URL. */
  setting: string
  timeoutMs?: number
}

type KnownChain = { network: string; explorerUrl: string; isTestnet: boolean; nativeSymbol: string }
const KNOWN_CHAINS: Readonly<Record<number, KnownChain>> = {
  8453: { network: 'base', explorerUrl: 'https://basescan.org', isTestnet: false, nativeSymbol: 'ETH' },
  84532: { network: 'base-sepolia', explorerUrl: 'https://sepolia.basescan.org', isTestnet: true, nativeSymbol: 'ETH' },
  4217: { network: 'tempo', explorerUrl: 'https://explore.tempo.xyz', isTestnet: false, nativeSymbol: 'USD' },
}
const DECIMALS = 6
const AUTHORIZATIONS = [
  {
    type: 'function',
    name: 'authorizationState',
    stateMutability: 'view',
    inputs: [
      { name: 'authorizer', type: 'address' },
      { name: 'nonce', type: 'bytes32' },
    ],
    outputs: [{ name: '', type: 'bool' }],
  },
] as const
/** Margin over the gas estimate: a transfer costs more when the recipient has never held the token. */
const GAS_MARGIN_PERCENT = 130n
/** Allows the gas price to double before the transaction is mined. */
const FEE_MARGIN = 2n
/** Node errors for a transaction that is already in the mempool. */
const KNOWN_ALREADY = /already known|already imported|already exists|known transaction/i
/** Node errors that are final; all others may be temporary. */
const REFUSED =
  /insufficient funds|intrinsic gas|exceeds block gas limit|gas limit (?:is )?too (?:low|high)|max fee per gas less/i
/** Node errors for a nonce that another transaction uses. */
const STALE = /nonce too low|nonce (?:is )?too (?:low|old)|replacement transaction underpriced/i

/** Creates a client for one token; viem loads on first use. */
export function createTokenChain(options: TokenChainOptions): TokenChain {
  const { currency, chainId, rpcUrl, setting } = options
  const known = KNOWN_CHAINS[chainId]
  const token = toAddress(options.token)
  const read = rpcUrl
    ? createChainReader({ rpcUrl, chainId, ...(options.timeoutMs && { timeoutMs: options.timeoutMs }) })
    : null
  const terms: TokenTerms = {
    currency,
    chainId,
    network: known?.network ?? `eip155:${chainId}`,
    isTestnet: known?.isTestnet ?? false,
    explorerUrl: known?.explorerUrl ?? null,
    nativeSymbol: known?.nativeSymbol ?? 'ETH',
    token,
    isConfigured: read !== null,
  }
  const ask: ReadChain = async (question) => {
    if (!read) throw notConfigured(`Payment in ${currency}`, [setting])
    return read(question)
  }
  const requireDecimals = createDecimalsCheck(ask, token)

  return {
    terms,
    requireConfigured() {
      if (!read) throw notConfigured(`Payment in ${currency}`, [setting])
    },
    async readHoldings(owner) {
      await requireDecimals()
      const { erc20Abi } = await loadViem()
      return ask(async (client) => {
        const [held, native] = await Promise.all([
          client.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
          client.getBalance({ address: owner }),
        ])
        return { token: held, native }
      })
    },
    readNextNonce: (owner) => ask((client) => client.getTransactionCount({ address: owner, blockTag: 'pending' })),
    async sign(account, order) {
      await requireDecimals()
      return signTransfer(ask, { token, chainId, currency }, account, order)
    },
    broadcast: (raw) => broadcast(ask, raw),
    findAuthorization: (owner, nonce) =>
      ask(async (client) => {
        // Read the time before the state: an authorization that is unused now may still be used in a later block, but
        // not in an earlier one.
        const block = await client.getBlock({ blockTag: 'latest' })
        const isUsed = await client.readContract({
          address: token,
          abi: AUTHORIZATIONS,
          functionName: 'authorizationState',
          args: [owner, nonce],
        })
        return { isUsed, chainTime: Number(block.timestamp) }
      }),
    findStanding: (transfer) => findStanding(ask, token, transfer),
  }
}

/** Amounts are in millionths, so a token with other decimals would pay out wrong amounts. */
function createDecimalsCheck(ask: ReadChain, token: Address): () => Promise<void> {
  let isChecked = false
  return async () => {
    if (isChecked) return
    const { erc20Abi } = await loadViem()
    const decimals = await ask((client) =>
      client.readContract({ address: token, abi: erc20Abi, functionName: 'decimals' }),
    )
    if (decimals !== DECIMALS) throw new AppError('misconfigured', `The token ${token} has ${decimals} decimals, not 6`)
    isChecked = true
  }
}

type TokenOf = { token: Address; chainId: number; currency: Currency }

async function signTransfer(
  ask: ReadChain,
  { token, chainId, currency }: TokenOf,
  account: PrivateKeyAccount,
  { to, amount, nonce }: TransferOrder,
): Promise<SignedTransfer> {
  const { encodeFunctionData, erc20Abi, keccak256 } = await loadViem()
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, amount] })
  const { held, fees, gas } = await ask(async (client) => {
    const held = await client.readContract({
      address: token,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args: [account.address],
    })
    if (held < amount) return { held, fees: null, gas: 0n }
    const [fees, gas] = await Promise.all([
      readFees(client),
      client.estimateGas({ account: account.address, to: token, data }),
    ])
    return { held, fees, gas }
  })
  if (fees === null)
    throw new AppError('payment_required', `The wallet holds too little ${currency}`, {
      code: 'INSUFFICIENT_BALANCE',
      balance: held.toString(),
    })
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId,
    nonce,
    to: token,
    data,
    gas: (gas * GAS_MARGIN_PERCENT) / 100n,
    ...fees,
  })
  return { raw, hash: keccak256(raw) }
}

/** Returns fees that allow the gas price to double before the transaction is mined. */
export async function readFees(client: PublicClient) {
  const [block, maxPriorityFeePerGas] = await Promise.all([
    client.getBlock({ blockTag: 'latest' }),
    client.estimateMaxPriorityFeePerGas(),
  ])
  return { maxPriorityFeePerGas, maxFeePerGas: (block.baseFeePerGas ?? 0n) * FEE_MARGIN + maxPriorityFeePerGas }
}

/** Broadcasts a signed transaction. @throws AppError `unavailable` for an ambiguous answer. */
export async function broadcast(ask: ReadChain, raw: Hex): Promise<Broadcast> {
  const viem = await loadViem()
  return ask(async (client) => {
    try {
      await client.sendRawTransaction({ serializedTransaction: raw })
      return { isTaken: true }
    } catch (error) {
      const refusal = error instanceof viem.BaseError && error.walk((cause) => cause instanceof viem.RpcRequestError)
      const words = refusal instanceof viem.RpcRequestError ? refusal.details : ''
      if (KNOWN_ALREADY.test(words) || STALE.test(words)) return { isTaken: true }
      if (REFUSED.test(words)) return { isTaken: false, reason: words.slice(0, 200) }
      throw error
    }
  })
}

type SentTransfer = { hash: Hex; from: Address; to: Address; amount: bigint }

function findStanding(ask: ReadChain, token: Address, transfer: SentTransfer): Promise<Standing> {
  return ask(async (client) => {
    // Read the nonce before the receipt: a used nonce without a receipt then belongs to another transaction.
    const nextNonce = await client.getTransactionCount({ address: transfer.from, blockTag: 'latest' })
    const receipt = await findReceipt(client, transfer.hash)
    if (!receipt) return { isMined: false, nextNonce }
    const { blockHash, blockNumber } = receipt
    const head = await client.getBlockNumber({ cacheTime: 0 })
    const confirmations = Number(head - blockNumber) + 1
    const hasPaid = receipt.status === 'success' && (await hasTransfer(receipt, token, transfer))
    return { isMined: true, hasPaid, blockNumber: Number(blockNumber), blockHash, confirmations }
  })
}

async function hasTransfer(receipt: TransactionReceipt, token: Address, { from, to, amount }: SentTransfer) {
  const { erc20Abi, isAddressEqual, parseEventLogs } = await loadViem()
  const logs = receipt.logs.filter(({ address }) => isAddressEqual(address, token))
  return parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs }).some(
    ({ args }) => isAddressEqual(args.from, from) && isAddressEqual(args.to, to) && args.value === amount,
  )
}

/** Returns the address in lower case, because viem verifies the checksum of mixed case. */
export function toAddress(text: string): Address {
  return `0x${text.slice(2).toLowerCase()}`
}
