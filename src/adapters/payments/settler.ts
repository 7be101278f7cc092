import type { Address, Hex, PublicClient } from 'viem'
import { TaskQueue } from '../../core/concurrency/keyed-queue.ts'
import { AppError } from '../../core/errors.ts'
import { createChainReader, findReceipt, loadViem, type ReadChain } from '../chain/reader.ts'
import { broadcast, readFees } from '../chain/token-chain.ts'

/** A signed authorization (EIP-3009) that pays the platform once. Numbers are decimal strings, times Unix seconds. */
export type TransferAuthorization = {
  from: string
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
  signature: string
}

/** A transaction that settles an authorization, first possible in block `sinceBlock`. */
export type SettlingTransaction = { raw: string; hash: string; sinceBlock: number }

/**
 * State of an authorization: `paid` by transaction `reference`, `refused` when it can no longer pay, otherwise `open`.
 * `isReplaced`: another transaction used this one's nonce.
 */
type Outcome = { state: 'paid'; reference: string } | { state: 'refused' } | { state: 'open'; isReplaced: boolean }

/** Settles authorizations on the chain. Every method throws AppError `unavailable` when the chain is unreachable. */
export type Settler = {
  /** Runs tasks one at a time, because transactions of one account need consecutive nonces. */
  inTurn<T>(task: () => Promise<T>): Promise<T>
  /** Signs without sending. @throws AppError `payment_required` PAYMENT_REFUSED when the transaction would fail. */
  sign(authorization: TransferAuthorization): Promise<SettlingTransaction>
  /** Idempotent, because the chain accepts a transaction once. */
  broadcast(raw: string): Promise<void>
  findOutcome(authorization: TransferAuthorization, transaction: SettlingTransaction): Promise<Outcome>
}

type SettlerOptions = { rpcUrl: string; chainId: number; token: string; settlerKey: string }

const TOKEN = [
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
] as const
const GAS_MARGIN_PERCENT = 130n
/** Nodes limit event queries to a few thousand blocks. */
const BLOCKS_PER_QUESTION = 2000n

/** Creates a settler whose account `settlerKey` sends transactions and pays fees. */
export async function createSettler(options: SettlerOptions): Promise<Settler> {
  const read = createChainReader({ rpcUrl: options.rpcUrl, chainId: options.chainId })
  const queue = new TaskQueue()
  return {
    inTurn: (task) => queue.run(task),
    sign: (authorization) => sign(options, read, authorization),
    async broadcast(raw) {
      const sent = await broadcast(read, toHex(raw))
      if (!sent.isTaken) throw new AppError('unavailable', `The chain did not take the transaction: ${sent.reason}`)
    },
    findOutcome: (authorization, transaction) => findOutcome(options, read, authorization, transaction),
  }
}

async function sign(options: SettlerOptions, read: ReadChain, authorization: TransferAuthorization) {
  const [viem, { privateKeyToAccount }] = await Promise.all([loadViem(), import('viem/accounts')])
  const account = privateKeyToAccount(toHex(options.settlerKey))
  const { from, to, value, validAfter, validBefore, nonce, signature } = authorization
  const { r, s, yParity } = viem.parseSignature(toHex(signature))
  const times = [BigInt(value), BigInt(validAfter), BigInt(validBefore)] as const
  const args = [viem.getAddress(from), viem.getAddress(to), ...times, toHex(nonce), 27 + yParity, r, s] as const
  const abi = viem.parseAbi(TOKEN)
  const call = {
    address: viem.getAddress(options.token),
    abi,
    functionName: 'transferWithAuthorization',
    args,
  } as const
  const data = viem.encodeFunctionData(call)
  const isRevert = (error: unknown) => error instanceof viem.ContractFunctionRevertedError
  const prepared = await read(async (client) => {
    const sinceBlock = Number(await client.getBlockNumber({ cacheTime: 0 }))
    // Simulate first: a reverted transaction costs a fee and pays nothing.
    const isRefused = await client.simulateContract({ ...call, account }).then(
      () => false,
      (error: unknown) => {
        if (error instanceof viem.BaseError && error.walk(isRevert) !== null) return true
        throw error
      },
    )
    if (isRefused) return null
    const [fees, gas, next] = await Promise.all([
      readFees(client),
      client.estimateGas({ account: account.address, to: call.address, data }),
      client.getTransactionCount({ address: account.address, blockTag: 'pending' }),
    ])
    return { sinceBlock, fees, gas: (gas * GAS_MARGIN_PERCENT) / 100n, nonce: next }
  })
  if (!prepared) throw new AppError('payment_required', 'The payment cannot be taken', { code: 'PAYMENT_REFUSED' })
  const { sinceBlock, fees, ...place } = prepared
  const { chainId } = options
  const raw = await account.signTransaction({ type: 'eip1559', chainId, to: call.address, data, ...place, ...fees })
  return { raw, hash: viem.keccak256(raw), sinceBlock }
}

async function findOutcome(
  { token }: SettlerOptions,
  read: ReadChain,
  authorization: TransferAuthorization,
  transaction: SettlingTransaction,
): Promise<Outcome> {
  const viem = await loadViem()
  const serialized = toHex(transaction.raw)
  const { nonce = 0 } = viem.parseTransaction(serialized)
  const sender = await viem.recoverTransactionAddress({ serializedTransaction: toRaw(serialized) })
  return read(async (client): Promise<Outcome> => {
    // Read the nonce before the receipt: a used nonce without a receipt then belongs to another transaction.
    const next = await client.getTransactionCount({ address: sender, blockTag: 'latest' })
    const receipt = await findReceipt(client, toHex(transaction.hash))
    if (receipt?.status === 'success') return { state: 'paid', reference: receipt.transactionHash }
    // Read the time before the state: an authorization that is unused now may still be used in a later block, but not
    // in an earlier one.
    const block = await client.getBlock({ blockTag: 'latest' })
    // Read at the receipt's block, because the answering node may lag behind.
    const at = receipt && receipt.blockNumber > block.number ? { blockNumber: receipt.blockNumber } : {}
    if (await isAuthorizationUsed(client, viem.getAddress(token), authorization, at))
      return findUse(client, viem.getAddress(token), authorization, transaction.sinceBlock)
    if (receipt || block.timestamp >= BigInt(authorization.validBefore)) return { state: 'refused' }
    return { state: 'open', isReplaced: next > nonce }
  })
}

async function isAuthorizationUsed(
  client: PublicClient,
  token: Address,
  { from, nonce }: TransferAuthorization,
  at: { blockNumber?: bigint },
): Promise<boolean> {
  const { getAddress, parseAbi } = await loadViem()
  const args = [getAddress(from), toHex(nonce)] as const
  return client.readContract({ address: token, abi: parseAbi(TOKEN), functionName: 'authorizationState', args, ...at })
}

/** A used nonce does not prove payment: its owner may have cancelled it or signed another payment. */
async function findUse(
  client: PublicClient,
  token: Address,
  { from, to, value, nonce }: TransferAuthorization,
  sinceBlock: number,
): Promise<Outcome> {
  const viem = await loadViem()
  const abi = viem.parseAbi(TOKEN)
  const head = await client.getBlockNumber({ cacheTime: 0 })
  const uses = viem.parseAbi([TOKEN[2], TOKEN[3]])
  for (let fromBlock = BigInt(sinceBlock); fromBlock <= head; fromBlock += BLOCKS_PER_QUESTION) {
    const lastBlock = fromBlock + BLOCKS_PER_QUESTION - 1n
    const toBlock = lastBlock < head ? lastBlock : head
    const range = { address: token, fromBlock, toBlock }
    const events = await Promise.all(
      uses.map((event) =>
        client.getLogs({ ...range, event, args: { authorizer: viem.getAddress(from), nonce: toHex(nonce) } }),
      ),
    )
    const hash = events.flat()[0]?.transactionHash
    if (!hash) continue
    const receipt = await client.getTransactionReceipt({ hash })
    const logs = receipt.logs.filter(({ address }) => viem.isAddressEqual(address, token))
    const hasPaid = viem
      .parseEventLogs({ abi, eventName: 'Transfer', logs })
      .some(
        ({ args }) =>
          viem.isAddressEqual(args.from, viem.getAddress(from)) &&
          viem.isAddressEqual(args.to, viem.getAddress(to)) &&
          args.value === BigInt(value),
      )
    return hasPaid ? { state: 'paid', reference: hash } : { state: 'refused' }
  }
  return { state: 'open', isReplaced: false }
}

function toHex(text: string): Hex {
  return `0x${text.replace(/^0x/, '')}`
}

/** This program signs only EIP-1559 transactions (type 2). */
function toRaw(hex: Hex): `0x02${string}` {
  return `0x02${hex.slice(4)}`
}
