import type { Config } from '../../core/config.ts'
import { openWallets, type WalletSettings } from './wallets/open.ts'

type MoneySettings = Pick<Config, 'mode'> & WalletSettings

/** Opens what the rooms of money share. At home nobody pays for a plan. */
export function openMoney(settings: MoneySettings) {
  return { plansArePaid: settings.mode !== 'home', ...openWallets(settings) }
}
