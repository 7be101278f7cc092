import { createTokenChain } from '../../../adapters/chain/token-chain.ts'
import { createLanes } from '../../../core/concurrency/keyed-queue.ts'
import type { Config } from '../../../core/config.ts'

export type WalletSettings = Pick<
  Config,
  'siweChainId' | 'baseRpcUrl' | 'usdcAddress' | 'clone' | 'approvalExpiryMinutes'
>

/** Opens the chains on which wallets pay. */
export function openWallets(settings: WalletSettings) {
  const { siweChainId, baseRpcUrl, usdcAddress, clone, approvalExpiryMinutes } = settings
  return {
    tokenChains: {
      USDC: createTokenChain({
        currency: 'USDC',
        chainId: siweChainId,
        rpcUrl: baseRpcUrl,
        token: usdcAddress,
        setting: 'BASE_RPC_URL',
      }),
      pathUSD: createTokenChain({
        currency: 'pathUSD',
        chainId: clone.chainId,
        rpcUrl: clone.rpcUrl,
        token: clone.tokenAddress,
        setting: 'CLONE_RPC_URL',
      }),
    },
    inWalletLane: createLanes(),
    approvalExpiryMinutes,
  }
}
