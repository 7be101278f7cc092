import { createEgress } from '../../adapters/egress/egress.ts'
import type { Config } from '../../core/config.ts'
import { openWallets, type WalletSettings } from './wallets/open.ts'

type MoneySettings = Pick<Config, 'mode' | 'summarizer'> & WalletSettings

/** Opens what the rooms of money share. At home nobody pays for a plan. */
export function openMoney(settings: MoneySettings) {
  return {
    plansArePaid: settings.mode !== 'home',
    egress: createEgress({ allowPrivate: settings.summarizer.allowPrivate }),
    ...openWallets(settings),
  }
}
