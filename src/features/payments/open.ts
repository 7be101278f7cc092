import { createTokenChain } from '../../adapters/chain/token-chain.ts'
import { createColonyUpstream } from '../../adapters/colony/upstream.ts'
import { createCards } from '../../adapters/payments/cards.ts'
import { createChainCharges } from '../../adapters/payments/chain-charges.ts'
import { createLanes } from '../../core/concurrency/keyed-queue.ts'
import type { Config } from '../../core/config.ts'
import type { Base } from '../base.ts'
import { settleAuthorization } from './paid-calls/call.ts'
import type { PaymentRow } from './wallets/tables.ts'
import { createColony, createTiers } from './x402/colony.ts'
import { createUpstreamReads } from './x402/gateway.ts'
import type { CountQuestions } from './x402/rating.ts'
import { settleUpstream } from './x402/upstream-payment.ts'

type PaymentsSettings = Pick<Config, 'mode' | 'x402GatewayUrl' | 'cards' | 'paidGateway'> &
  WalletSettings & { appUrl: string }

/** Opens the payments domain. Home installations have no paid plans. */
export function openPayments(
  base: Base,
  settings: PaymentsSettings,
  above: { countQuestions: CountQuestions; isStandby: boolean },
) {
  const { appUrl, mode, x402GatewayUrl } = settings
  const colonyUpstream = x402GatewayUrl === undefined ? null : createColonyUpstream(x402GatewayUrl, base)
  const wallets = openWallets(settings)
  return {
    plansArePaid: mode !== 'home',
    ...wallets,
    cards: createCards(settings.cards, base),
    cardGraceDays: settings.cards.graceDays,
    chainCharges: openChainCharges(base, settings),
    colonyUpstream,
    colony: colonyUpstream ? createUpstreamReads(colonyUpstream) : createColony({ ...base, ...above, appUrl }),
    // An external gateway has its own tiers and prices.
    findTier: colonyUpstream ? () => 'new' as const : createTiers({ ...base, ...above }),
    settleElsewhere: createSettlement({ ...base, ...wallets, ...above, colonyUpstream }),
  }
}

/** Opens payments per request. Their challenges are signed with a derived key. */
function openChainCharges(base: Base, settings: PaymentsSettings) {
  const { paidGateway, baseRpcUrl, siweChainId, usdcAddress, appUrl } = settings
  const secretKey = Buffer.from(base.sealer.deriveKey('gateway-challenges')).toString('base64')
  const chain = { rpcUrl: baseRpcUrl, chainId: siweChainId, token: usdcAddress }
  return createChainCharges({ ...paidGateway, ...chain, secretKey, appUrl }, base)
}

/** Settles payments that are not transfers of the platform. */
function createSettlement(deps: Parameters<typeof settleUpstream>[0] & Parameters<typeof settleAuthorization>[0]) {
  return (payment: PaymentRow) =>
    payment.kind === 'authorization' ? settleAuthorization(deps, payment) : settleUpstream(deps, payment)
}

type WalletSettings = Pick<Config, 'siweChainId' | 'baseRpcUrl' | 'usdcAddress' | 'clone' | 'approvalExpiryMinutes'>

/** Opens the chains that wallets pay on. */
function openWallets(settings: WalletSettings) {
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
    runInWalletQueue: createLanes(),
    approvalExpiryMinutes,
  }
}
