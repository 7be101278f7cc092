import type { Address, Hex, PublicClient, TransactionReceipt } from 'viem'
import { createChainReader, findReceipt, loadViem, notConfigured } from './reader.ts'

/** One token transfer to the payee. `memo` is the payer's note (TIP-20). */
type Transfer = { logIndex: number; from: string; value: bigint; memo: Hex | null }

/**
 * A successful transaction on the chain, with lower-case addresses. `chainTime` is the time of the latest block;
 * `confirmations` counts the blocks up to it.
 */
export type Payment = { transfers: Transfer[]; decimals: number; minedAt: Date; chainTime: Date; confirmations: number }

export type TokenPayments = {
  /** Payment terms for payers; token and payee are null when not configured. */
  readonly terms: { chainId: number; token: string | null; payTo: string | null; isConfigured: boolean }
  /**
   * Returns the transfers to the payee, or null when the transaction failed, is not mined or was dropped by a
   * reorganization.
   * @throws AppError `unavailable` when the chain cannot be read.
   */
  find(transactionHash: Hex): Promise<Payment | null>
}
type TokenPaymentsOptions = {
  rpcUrl: string | undefined
  chainId: number
  tokenAddress: string | undefined
  payTo: string | undefined
}

const EVENTS = [
  'event Transfer(address indexed from, address indexed to, uint256 amount)',
  'event TransferWithMemo(address indexed from, address indexed to, uint256 amount, bytes32 indexed memo)',
] as const

/** Reads payments of one token to one payee from the chain, the only proof of payment. */
export function createTokenPayments(options: TokenPaymentsOptions): TokenPayments {
  const { rpcUrl, chainId } = options
  const token = options.tokenAddress?.toLowerCase() ?? null
  const payTo = options.payTo?.toLowerCase() ?? null
  const missing = [
    ...(rpcUrl ? [] : ['CLONE_RPC_URL']),
    ...(token ? [] : ['CLONE_TOKEN_ADDRESS']),
    ...(payTo ? [] : ['CLONE_PAY_TO']),
  ]
  const read = rpcUrl ? createChainReader({ rpcUrl, chainId }) : null
  return {
    terms: { chainId, token, payTo, isConfigured: missing.length === 0 },
    async find(hash) {
      if (!read || !token || !payTo) throw notConfigured('Payment for clones', missing)
      return read((client) => findPayment(client, hash, { token, payTo }))
    },
  }
}

async function findPayment(client: PublicClient, hash: Hex, to: { token: string; payTo: string }) {
  const viem = await loadViem()
  const receipt = await findReceipt(client, hash)
  if (receipt?.status !== 'success') return null
  const [block, latest, decimals] = await Promise.all([
    findBlock(client, receipt.blockNumber),
    client.getBlock({ blockTag: 'latest' }),
    client.readContract({ address: viem.getAddress(to.token), abi: viem.erc20Abi, functionName: 'decimals' }),
  ])
  if (block?.hash !== receipt.blockHash) return null
  const confirmations = Number((latest.number ?? receipt.blockNumber) - receipt.blockNumber) + 1
  const times = { minedAt: toDate(block.timestamp), chainTime: toDate(latest.timestamp) }
  return { transfers: listTransfers(viem, receipt, to), decimals, ...times, confirmations }
}

/** Returns null for a block that a reorganization removed. */
async function findBlock(client: PublicClient, blockNumber: bigint) {
  const { BlockNotFoundError } = await loadViem()
  return client.getBlock({ blockNumber }).catch((error: unknown) => {
    if (error instanceof BlockNotFoundError) return null
    throw error
  })
}

type Viem = Awaited<ReturnType<typeof loadViem>>

/** A transfer with a memo emits two events, one of them without the memo. */
function listTransfers(viem: Viem, receipt: TransactionReceipt, { token, payTo }: { token: string; payTo: string }) {
  const logs = receipt.logs.filter(({ address }) => address.toLowerCase() === token)
  const events = viem.parseEventLogs({ abi: viem.parseAbi(EVENTS), logs, strict: true })
  const memos = events.flatMap(({ eventName, args }) => (eventName === 'TransferWithMemo' ? [args] : []))
  return events.flatMap((event): Transfer[] => {
    if (event.eventName !== 'Transfer' || event.args.to.toLowerCase() !== payTo) return []
    const { from, amount } = event.args
    const at = memos.findIndex((memo) => isSameTransfer(memo, event.args))
    const memo = at === -1 ? null : (memos.splice(at, 1)[0]?.memo ?? null)
    return [{ logIndex: event.logIndex, from: from.toLowerCase(), value: amount, memo }]
  })
}

type TransferArgs = { from: Address; to: Address; amount: bigint }

function isSameTransfer(one: TransferArgs, other: TransferArgs): boolean {
  return one.from === other.from && one.to === other.to && one.amount === other.amount
}

function toDate(seconds: bigint): Date {
  return new Date(Number(seconds) * 1000)
}
