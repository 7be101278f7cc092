import type { Hex, PublicClient, TransactionReceipt } from 'viem'
import { AppError } from '../../core/errors.ts'

type ChainReaderOptions = { rpcUrl: string; chainId: number; timeoutMs?: number }

/**
 * Runs `read` against one chain.
 * @throws AppError `unavailable` when the RPC fails, serves another chain, or `read` throws.
 */
export type ReadChain = <T>(read: (client: PublicClient) => Promise<T>) => Promise<T>

const TIMEOUT_MS = 5000

/** Loads viem on first use because most installations never read a chain. */
export const loadViem = () => import('viem')

/** Checks the chain id on each read, so an RPC of another chain cannot return a valid result. */
export function createChainReader({ rpcUrl, chainId, timeoutMs = TIMEOUT_MS }: ChainReaderOptions): ReadChain {
  let opened: Promise<PublicClient> | undefined
  return async (read) => {
    opened ??= createClient(rpcUrl, timeoutMs)
    const client = await opened
    try {
      const [actual, answer] = await Promise.all([client.getChainId(), read(client)])
      if (actual === chainId) return answer
      throw new Error(`it is chain ${actual}, not ${chainId}`)
    } catch (error) {
      throw new AppError('unavailable', `The chain cannot be asked: ${shortMessage(error)}`)
    }
  }
}

/** Creates the error for a check whose settings are missing. */
export function notConfigured(what: string, settings: readonly string[]): AppError {
  return new AppError('unavailable', `${what} is not configured: set ${settings.join(' and ')}`, {
    code: 'NOT_CONFIGURED',
  })
}

async function createClient(rpcUrl: string, timeout: number): Promise<PublicClient> {
  const { createPublicClient, http } = await loadViem()
  // CCIP read (ERC-3668) is off because a contract could make the server fetch any URL.
  return createPublicClient({ transport: http(rpcUrl, { timeout, retryCount: 0 }), ccipRead: false })
}

/** Omits the RPC URL, which may contain an API key. */
function shortMessage(error: unknown): string {
  if (error instanceof Error && 'shortMessage' in error) return String(error.shortMessage)
  return error instanceof Error ? error.message : String(error)
}

/** Returns null for a transaction that is not in a block. */
export async function findReceipt(client: PublicClient, hash: Hex): Promise<TransactionReceipt | null> {
  const { TransactionReceiptNotFoundError } = await loadViem()
  return client.getTransactionReceipt({ hash }).catch((error: unknown) => {
    if (error instanceof TransactionReceiptNotFoundError) return null
    throw error
  })
}
