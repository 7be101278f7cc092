import type { Currency } from '../../../adapters/chain/token-chain.ts'
import { type Holdings, type TokenChain, toAddress } from '../../../adapters/chain/token-chain.ts'
import { AppError, errorMessage } from '../../../core/errors.ts'

export type TokenChains = Readonly<Record<Currency, TokenChain>>

/** Holdings of an address in one token; `microUsd` is null with the reason when the chain cannot be reached. */
type Balance = { currency: Currency; network: string; microUsd: bigint | null; problem: string | null }

/** Returns the holdings of `address` in millionths. @throws AppError `unavailable` when the chain cannot be reached. */
export async function readTokenBalance(chains: TokenChains, currency: Currency, address: string): Promise<bigint> {
  return (await readHoldings(chains[currency], address)).token
}

export function readHoldings(chain: TokenChain, address: string): Promise<Holdings> {
  return chain.readHoldings(toAddress(address))
}

/** Reads all tokens; an unreachable chain is reported as a problem, not as zero. */
export function readBalances(chains: TokenChains, address: string): Promise<Balance[]> {
  return Promise.all(
    Object.values(chains).map(async (chain): Promise<Balance> => {
      const { currency, network } = chain.terms
      try {
        return { currency, network, microUsd: (await readHoldings(chain, address)).token, problem: null }
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        return { currency, network, microUsd: null, problem: errorMessage(error) }
      }
    }),
  )
}
