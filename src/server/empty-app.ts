import { createNoRuntime, onlyRuntime } from '../adapters/runtimes/contract/runtimes.ts'
import { systemClock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import { createLog } from '../core/log.ts'
import { PASSWORD_COST } from '../features/accounts/passwords/passwords.ts'
import { NOTHING_UNDER_WAY } from '../features/monitoring/prometheus/registry.ts'
import { createApp } from './app.ts'
import { openMigrated } from './database.ts'
import { openPlatform } from './platform.ts'

/** Creates the app on an empty in-memory database, to list its routes without serving them. */
export function createEmptyApp(config: Config) {
  const platform = openPlatform({
    config,
    clock: systemClock,
    log: createLog('silent'),
    fetch,
    connection: openMigrated(':memory:', config.dataDir).connection,
    encryptionKey: 'only for listing routes',
    passwordCost: PASSWORD_COST,
    runtimes: onlyRuntime(createNoRuntime('process', 'Only routes are listed here.')),
    isStandby: false,
    providers: [],
    bound: {
      webUrl: 'http://localhost:3000',
      webPort: 3000,
      urlForAgents: async () => '',
      proxyForAgents: async () => '',
      countUnderWay: () => NOTHING_UNDER_WAY,
    },
    openProvider: () => null,
  })
  return createApp(platform, new Map())
}
