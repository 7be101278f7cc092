import type { Address } from 'viem'
import { type Chain, createChain } from './chain.ts'
import { createChainReader, loadViem, notConfigured } from './reader.ts'

export type Ens = Pick<Chain, 'verifySignature'> & {
  /**
   * Returns the primary name of `owner` if it resolves back to `owner`, or null. Off-chain names (ERC-3668) are not
   * resolved.
   * @throws AppError `unavailable`.
   */
  findPrimaryName(owner: Address): Promise<string | null>
}

const MAINNET = 1
/** ENS Universal Resolver on Ethereum mainnet, copied here to avoid loading viem's list of chains. */
const UNIVERSAL_RESOLVER = '0xeeeeeeee14d718c2b47d9923deab1335e144eeee'

export function createEns({ rpcUrl }: { rpcUrl: string | undefined }): Ens {
  const chain = createChain({ rpcUrl, chainId: MAINNET })
  const read = rpcUrl ? createChainReader({ rpcUrl, chainId: MAINNET }) : null
  const requireReader = () => {
    if (!read) throw notConfigured('Verification by ENS', ['ENS_RPC_URL'])
    return read
  }
  return {
    async verifySignature(question) {
      requireReader()
      return chain.verifySignature(question)
    },
    async findPrimaryName(owner) {
      const ask = requireReader()
      const viem = await loadViem()
      const { normalize } = await import('viem/ens')
      return ask(async (client) => {
        const universalResolverAddress = UNIVERSAL_RESOLVER
        const name = await orNull(viem, client.getEnsName({ address: owner, universalResolverAddress }))
        // A name that is not normalized can imitate another name (ENSIP-15).
        if (name === null || !isNormal(name, normalize)) return null
        const forward = await orNull(viem, client.getEnsAddress({ name, universalResolverAddress }))
        return forward !== null && viem.isAddressEqual(forward, owner) ? name : null
      })
    },
  }
}

/** Returns null when the contract reverts, as it does for off-chain names. */
async function orNull<T>(viem: Awaited<ReturnType<typeof loadViem>>, answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    const isRefusal = (cause: unknown) => cause instanceof viem.ContractFunctionRevertedError
    if (error instanceof viem.BaseError && error.walk(isRefusal)) return null
    throw error
  }
}

function isNormal(name: string, normalize: (name: string) => string): boolean {
  try {
    return normalize(name) === name
  } catch {
    return false
  }
}
