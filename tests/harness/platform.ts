import { onTestFinished } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Network } from '../../src/adapters/egress/egress.ts'
import { createHttpProvider } from '../../src/adapters/models/http-provider.ts'
import type { AiProvider } from '../../src/adapters/models/provider.ts'
import { createTokenCounter, type TokenCounter } from '../../src/adapters/models/token-counter.ts'
import type { Runtime } from '../../src/adapters/runtimes/contract/runtime.ts'
import { createNoRuntime, onlyRuntime } from '../../src/adapters/runtimes/contract/runtimes.ts'
import type { Clock } from '../../src/core/clock.ts'
import { readConfig } from '../../src/core/config.ts'
import { createLog } from '../../src/core/log.ts'
import type { ShownSetting } from '../../src/core/settings/show.ts'
import type { Connection } from '../../src/db/open.ts'
import { write } from '../../src/db/write.ts'
import type { PasswordCost } from '../../src/features/accounts/passwords/passwords.ts'
import { insertUser } from '../../src/features/accounts/registration/register.ts'
import type { RunStead } from '../../src/features/admin/backups/run-backup.ts'
import type { LogTail } from '../../src/features/admin/logs/log-tail.ts'
import type { OpenProvider } from '../../src/features/ai/own-keys/own-keys.ts'
import { NOTHING_UNDER_WAY } from '../../src/features/monitoring/prometheus/registry.ts'
import type { ApiName, Bindings } from '../../src/http/env.ts'
import { companionOf, SESSION_COOKIE } from '../../src/http/sessions/cookie.ts'
import { createApp } from '../../src/server/app.ts'
import { openMigrated } from '../../src/server/database.ts'
import { openPlatform } from '../../src/server/platform.ts'
import { openTestDatabase } from './database.ts'
import { requireDocumented } from './documents/documented.ts'
import { anyBotUrl } from './doubles/bots.ts'

/** Key of the backend API of every test platform. */
export const INTERNAL_KEY = 'internal-key-of-the-tests-0123456789abcdef'

/** The minimum of argon2id, which takes a thousandth of the real time, because tests sign in hundreds of times. */
export const LOW_PASSWORD_COST: PasswordCost = { memoryCost: 8, timeCost: 1 }

/** Disables rate limits unless a test sets one, because tests share an address. */
const NO_RATES = Object.fromEntries(
  [
    'BACKEND',
    'AI',
    'DEPLOYMENTS',
    'GATEWAY',
    'AGENTS',
    'CHAT',
    'INSTANCE',
    'PROVISION',
    'DEMO',
    'SUMMARIZER',
    'REGISTER',
    'LOGIN',
    'PASSWORD',
  ].map((name) => [`RATE_LIMIT_${name}`, '1000000']),
)

export type TestOptions = {
  environment?: Record<string, string>
  providers?: AiProvider[]
  openProvider?: OpenProvider
  fetch?: typeof fetch
  tokens?: TokenCounter
  runStead?: RunStead
  shownSettings?: readonly ShownSetting[]
  logTail?: LogTail
  runtime?: Runtime
  isStandby?: boolean
  urlForAgents?: () => Promise<string>
  /** DNS and routes for requests of agents. */
  agentNetwork?: Network
  /** Receives the logged lines. */
  logLines?: string[]
  /** Default: in memory. */
  databaseFile?: string
  /** Replaces the database that the platform would open. */
  connection?: Connection
  /** Receives the function that closes the platform. Default: closes it after the test. */
  closeLater?: (close: () => void) => void
}

/** The platform's token counter, shared by all tests of a process. */
const sharedTokens: TokenCounter = {
  ...createTokenCounter({ log: createLog('info', { write: () => undefined }) }),
  close: () => undefined,
}

/** A clock that moves only when the test advances it. */
export function testClock(start = new Date()): Clock & { advance(ms: number): void; set(time: Date): void } {
  let now = start
  return {
    now: () => now,
    advance: (ms) => {
      now = new Date(now.getTime() + ms)
    },
    set: (time) => {
      now = time
    },
  }
}

/**
 * Creates a platform on a database in memory, closed after the test unless `closeLater` is given. Jobs do not run until
 * the test starts them.
 */
export function testPlatform(options: TestOptions = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'stead-test-'))
  const clock = testClock()
  const bots = anyBotUrl()
  const config = readConfig({
    DATA_DIR: dataDir,
    INTERNAL_API_KEY: INTERNAL_KEY,
    TELEGRAM_API_URL: bots,
    DISCORD_API_URL: bots,
    SLACK_API_URL: bots,
    ...NO_RATES,
    // Doubles on loopback must also be reachable for agents.
    ...(options.environment?.SUMMARIZER_ALLOW_PRIVATE === 'true' && {
      EGRESS_PRIVATE_HOSTS: '127.0.0.1:*,localhost:*',
    }),
    ...options.environment,
  })
  const logLines = options.logLines ?? []
  const parts = openPlatform({
    config,
    clock,
    log: createLog('info', { write: (line) => void logLines.push(line) }),
    fetch: options.fetch ?? fetch,
    connection: options.connection ?? openConnection(options, dataDir),
    encryptionKey: 'a key that only tests use',
    passwordCost: LOW_PASSWORD_COST,
    runtimes: onlyRuntime(options.runtime ?? createNoRuntime('process', 'This test has no runtime')),
    isStandby: options.isStandby ?? false,
    providers: options.providers ?? [],
    openProvider: (id, apiKey, custom) =>
      custom
        ? createHttpProvider({ id, ...custom, apiKey, timeoutMs: 10_000 }, { fetch })
        : (options.openProvider?.(id, apiKey) ?? null),
    tokens: options.tokens ?? sharedTokens,
    runStead: options.runStead ?? null,
    shownSettings: options.shownSettings ?? [],
    ...(options.logTail && { logTail: options.logTail }),
    ...(options.agentNetwork && { agentNetwork: options.agentNetwork }),
    bound: {
      webUrl: 'http://localhost:3000',
      webPort: 3000,
      urlForAgents: options.urlForAgents ?? (async () => 'http://127.0.0.1:3001'),
      proxyForAgents: async () => 'http://127.0.0.1:3128',
      countUnderWay: () => NOTHING_UNDER_WAY,
    },
  })
  // Service functions under test take their dependencies from any domain.
  const platform = {
    ...{ ...parts.accounts, ...parts.agents, ...parts.ai, ...parts.payments, ...parts.conversations },
    ...{ ...parts.webTools, ...parts.monitoring, ...parts.admin, ...parts },
  }
  const app = createApp(platform, new Map())
  const closeLater = options.closeLater ?? onTestFinished
  closeLater(() => {
    platform.close()
    rmSync(dataDir, { recursive: true, force: true })
  })

  const api = (name: ApiName, bindings: Partial<Bindings> = {}) => ({
    request: async (path: string, init: RequestInit = {}) => {
      const request = new Request(`http://localhost:3000${path}`, init)
      const response = await app.fetch(request, { api: name, address: '203.0.113.7', ...bindings })
      await requireDocumented(app, name, request, response)
      return response
    },
  })

  return {
    platform,
    app,
    config,
    clock,
    logLines,
    web: api('web'),
    backend: api('backend'),
    summarizer: api('summarizer'),
    /** Calls the backend API as the web app does for a user, in-process. */
    api,
    /** Creates an account without a password and signs in; `cookie` is the browser's cookie header. */
    signIn: async (email = 'ada@example.com', plan: string | null = null) => {
      const user = await write(platform.db, (tx) =>
        insertUser(tx, { email, name: email, passwordHash: null }, { now: clock.now(), plan }),
      )
      const token = await platform.sessions.create(user.id)
      const companion = platform.isHttps ? `; __Host-${SESSION_COOKIE}=${companionOf(token)}` : ''
      return { user, token, cookie: { cookie: `${SESSION_COOKIE}=${token}${companion}` } }
    },
  }
}

function openConnection({ databaseFile }: TestOptions, dataDir: string): Connection {
  return databaseFile === undefined ? openTestDatabase() : openMigrated(databaseFile, dataDir).connection
}
