import type { Hex, PublicClient, TransactionReceipt } from 'viem'
import { AppError } from '../../core/errors.ts'

export type ChainReaderOptions = { rpcUrl: string; chainId: number; timeoutMs?: number }

/** Asks one chain. @throws AppError `unavailable` when it does not answer, is another one, or `read` throws. */
export type ReadChain = <T>(read: (client: PublicClient) => Promise<T>) => Promise<T>

const TIMEOUT_MS = 5000

/** Libraries load at the first use: most houses ask no chain. */
export const loadViem = () => import('viem')

/** Each read also asks which chain it is, so that an RPC of another one proves nothing. */
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

/** The error of a check for which a setting is missing. */
export function notConfigured(what: string, settings: readonly string[]): AppError {
  return new AppError('unavailable', `${what} is not configured: set ${settings.join(' and ')}`, {
    code: 'NOT_CONFIGURED',
  })
}

async function createClient(rpcUrl: string, timeout: number): Promise<PublicClient> {
  const { createPublicClient, http } = await loadViem()
  // A contract may ask for a web page to be fetched in its name (ERC-3668): none is.
  return createPublicClient({ transport: http(rpcUrl, { timeout, retryCount: 0 }), ccipRead: false })
}

/** Without the RPC's URL, which may hold a key. */
function shortMessage(error: unknown): string {
  if (error instanceof Error && 'shortMessage' in error) return String(error.shortMessage)
  return error instanceof Error ? error.message : String(error)
}

/** Null for a transaction that is in no block. */
export async function findReceipt(client: PublicClient, hash: Hex): Promise<TransactionReceipt | null> {
  const { TransactionReceiptNotFoundError } = await loadViem()
  return client.getTransactionReceipt({ hash }).catch((error: unknown) => {
    if (error instanceof TransactionReceiptNotFoundError) return null
    throw error
  })
}
