import { createColonyUpstream } from '../../adapters/colony/upstream.ts'
import { createCards } from '../../adapters/payments/cards.ts'
import { createChainCharges } from '../../adapters/payments/chain-charges.ts'
import type { Config } from '../../core/config.ts'
import type { Base } from '../base.ts'
import { settleAuthorization } from './paid-calls/settle.ts'
import { openWallets, type WalletSettings } from './wallets/open.ts'
import type { PaymentRow } from './wallets/tables.ts'
import { createColony, createTiers } from './x402/colony.ts'
import type { CountQuestions } from './x402/deeds.ts'
import { createUpstreamReads } from './x402/gateway.ts'
import { settleUpstream } from './x402/upstream-payment.ts'

type MoneySettings = Pick<Config, 'mode' | 'x402GatewayUrl' | 'cards' | 'paidGateway'> &
  WalletSettings & { appUrl: string }

/** Opens what the rooms of money share. At home nobody pays for a plan. */
export function openMoney(base: Base, settings: MoneySettings, above: { countQuestions: CountQuestions }) {
  const { appUrl, mode, x402GatewayUrl } = settings
  const colonyUpstream = x402GatewayUrl === undefined ? null : createColonyUpstream(x402GatewayUrl, base)
  const wallets = openWallets(settings)
  return {
    plansArePaid: mode !== 'home',
    ...wallets,
    cards: createCards(settings.cards, base),
    cardGraceDays: settings.cards.graceDays,
    chainCharges: createChainCharges(
      {
        ...settings.paidGateway,
        rpcUrl: settings.baseRpcUrl,
        chainId: settings.siweChainId,
        token: settings.usdcAddress,
        secretKey: Buffer.from(base.sealer.deriveKey('gateway-challenges')).toString('base64'),
        appUrl,
      },
      base,
    ),
    colonyUpstream,
    colony: colonyUpstream ? createUpstreamReads(colonyUpstream) : createColony({ ...base, ...above, appUrl }),
    // Another gateway has its own tiers, and takes its own prices.
    findTier: colonyUpstream ? () => 'new' as const : createTiers({ ...base, ...above }),
    settleElsewhere: (payment: PaymentRow) =>
      payment.kind === 'authorization'
        ? settleAuthorization({ ...base, ...wallets }, payment)
        : settleUpstream({ ...base, ...wallets, colonyUpstream }, payment),
  }
}
