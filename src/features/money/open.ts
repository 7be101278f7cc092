import type { Config } from '../../core/config.ts'
import type { Base } from '../base.ts'
import { createGrantCredits } from './ledger/credits.ts'

type MoneySettings = Pick<Config, 'mode'>

/** Opens what the rooms of money share. At home nobody pays for a plan. */
export function openMoney(base: Base, { mode }: MoneySettings) {
  return { plansArePaid: mode !== 'home', grantCredits: createGrantCredits(base) }
}
