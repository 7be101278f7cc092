/** `bun run endpoints`: writes `tests/endpoints.txt`, one line a route; `--check` only says whether it is up to date. */
import { join } from 'node:path'
import { createNoRuntime } from '../src/adapters/runtimes/contract/no-runtime.ts'
import { onlyRuntime } from '../src/adapters/runtimes/contract/runtimes.ts'
import { createApp } from '../src/apps/app.ts'
import { openMigrated } from '../src/apps/database.ts'
import { openPlatform } from '../src/apps/platform.ts'
import { systemClock } from '../src/core/clock.ts'
import { readConfig } from '../src/core/config.ts'
import { createLog } from '../src/core/log.ts'
import { PASSWORD_COST } from '../src/features/people/passwords/passwords.ts'
import { describeRoutes } from './routes.ts'

const file = join(import.meta.dir, '..', 'tests/endpoints.txt')
const actual = `${describeRoutes(createEmptyApp().routes).join('\n')}\n`

if (process.argv.includes('--check')) {
  const expected = await Bun.file(file)
    .text()
    .catch(() => '')
  const changes = [...missingFrom(expected, actual, '+'), ...missingFrom(actual, expected, '-')]
  if (changes.length > 0) {
    console.error(`tests/endpoints.txt is out of date: read the change, then run \`bun run endpoints\`.`)
    console.error(changes.join('\n'))
  }
  process.exit(changes.length > 0 ? 1 : 0)
}
await Bun.write(file, actual)
process.exit(0)

/** The routes depend on no setting, so the app stands on an empty database in memory. */
function createEmptyApp() {
  const config = readConfig({})
  const platform = openPlatform({
    config,
    clock: systemClock,
    log: createLog('silent'),
    fetch,
    connection: openMigrated(':memory:', config.dataDir).connection,
    encryptionKey: 'only for listing routes',
    passwordCost: PASSWORD_COST,
    runtimes: onlyRuntime(createNoRuntime('process', 'Only routes are listed here.')),
    standsBack: false,
    providers: [],
    bound: {
      webUrl: 'http://localhost:3000',
      webPort: 3000,
      urlForAgents: async () => '',
    },
    openProvider: () => null,
  })
  return createApp(platform, new Map())
}

/** Lines of `right` that `left` has not, each behind `mark`. */
function missingFrom(left: string, right: string, mark: string): string[] {
  const known = new Set(left.split('\n'))
  return right
    .split('\n')
    .filter((line) => !known.has(line))
    .map((line) => `${mark} ${line}`)
}
