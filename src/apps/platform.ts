import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { migrations } from '../../migrations/list.ts'
import { type AgentGateway, createAgentGateway } from '../adapters/agent-gateway.ts'
import type { AiProvider } from '../adapters/ai-provider.ts'
import { type Backend, type CallBackend, callOverHttp, createBackend } from '../adapters/backend.ts'
import { createDockerPing } from '../adapters/docker-engine.ts'
import type { Runtime } from '../adapters/runtime.ts'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Log } from '../core/log.ts'
import { createSealer } from '../core/secrets.ts'
import { migrate } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import { openWriteQueue } from '../db/write.ts'
import { createPasswords } from '../features/accounts/passwords.ts'
import { createSessions } from '../features/accounts/sessions.ts'
import { createUserFinder, toSignedInUser } from '../features/accounts/users.ts'
import { createCallerFinder } from '../features/ai/callers.ts'
import { createCatalogue } from '../features/ai/catalogue.ts'
import { createAiHealth } from '../features/ai/health.ts'
import { createHostProbe } from '../features/health/host.ts'
import { createKeyVerifier } from '../features/keys/verify.ts'
import { createMonthlyTokens } from '../features/usage/monthly-tokens.ts'
import { createQuota } from '../features/usage/quota.ts'
import { createUsageRecorder } from '../features/usage/record.ts'
import { createCsrf } from '../http/csrf.ts'
import { requireInternalKey } from '../http/internal-key.ts'
import { createGuards } from '../http/session.ts'
import { createJobQueue } from '../jobs/queue.ts'

/** What differs between a server, a test and a command line: everything else is made here. */
export type PlatformParts = {
  config: Config
  clock: Clock
  log: Log
  fetch: typeof fetch
  databaseFile: string
  encryptionKey: string
  runtime: Runtime
  providers: AiProvider[]
}

export type Platform = ReturnType<typeof openPlatform>

/**
 * Opens the database and makes the parts that rooms share; each room takes the few it names.
 * @throws StartupError when the database cannot be opened or migrated.
 */
export function openPlatform(parts: PlatformParts) {
  const { config, clock, log, runtime, providers } = parts
  const connection = openDatabase(parts.databaseFile)
  migrate(connection.sqlite, migrations, { backupDir: join(config.dataDir, 'backups') })
  openWriteQueue(connection)
  const { db } = connection

  // Ports are known only after listening, and the in-process backend only after the app is built.
  const late: { appUrl: string; backendUrl: string; callBackend: CallBackend } = {
    appUrl: config.appUrl ?? `http://localhost:${config.ports.web}`,
    backendUrl: `http://127.0.0.1:${config.ports.backend}`,
    callBackend: () => Promise.reject(new Error('The app is not built yet')),
  }
  const isHttps = config.appUrl?.startsWith('https:') ?? false
  const sealer = createSealer(parts.encryptionKey)
  const rules = { adminEmails: config.adminEmails }
  const sessions = createSessions({ db, clock, rules })
  const verifyKey = createKeyVerifier({ db, clock, log })
  const findUserByKey = (key: string) => {
    const user = verifyKey(key)
    return user ? toSignedInUser(user, rules) : null
  }
  const queue = createJobQueue({ db, clock, log })
  const gateway: AgentGateway = createAgentGateway({ fetch: parts.fetch })
  const backend: Backend = createBackend(
    config.backendUrl
      ? callOverHttp({ baseUrl: config.backendUrl, internalApiKey: config.internalApiKey, fetch: parts.fetch })
      : (path, init, caller) => late.callBackend(path, init, caller),
  )
  const monthlyTokens = createMonthlyTokens({ db, clock })
  const catalogue = createCatalogue({ providers, aggregator: config.ai.aggregator, log })

  return {
    db,
    clock,
    log,
    sealer,
    rules,
    sessions,
    passwords: createPasswords(Math.max(1, availableParallelism() - 1)),
    verifyKey,
    guards: createGuards({ findUserBySession: sessions.find, findUserByKey }),
    csrf: createCsrf({
      key: sealer.deriveKey('csrf'),
      clock,
      isOwnOrigin: (origin, request) => isOwn(late.appUrl, origin, request),
    }),
    internalKey: requireInternalKey(config.internalApiKey, createUserFinder(db, rules)),
    callers: createCallerFinder({ db, verifyKey, rules, internalApiKey: config.internalApiKey }),
    enqueue: queue.enqueue,
    queue,
    runtime,
    gateway,
    backend,
    catalogue,
    quota: createQuota({ monthlyTokens }),
    usage: createUsageRecorder({ db, clock, log, monthlyTokens }),
    probeHost: createHostProbe(),
    probeProviders: createAiHealth({ providers, log }),
    isDockerAvailable: createDockerPing(config.agents.dockerHost),
    isHttps,
    addresses: { domain: config.domain, isHttps, webPort: config.ports.web },
    signUp: {
      mode: config.signUp,
      firstUserOwnsPlan: config.mode === 'home',
      walletEmailDomain: `wallet.${config.domain}`,
    },
    botDetection: config.botDetection,
    killSwitch: config.agents.killSwitch,
    basePort: config.agents.basePort,
    plannedEndpoints: config.plannedEndpoints,
    requestsPerMinute: config.requestsPerMinute,
    platformUrl: () => late.backendUrl,
    late,
    close() {
      connection.close()
    },
  }
}

/** Browsers name the origin of the page; ours is the configured one, or whatever host the request came to. */
function isOwn(appUrl: string, origin: string, request: Request): boolean {
  if (origin === new URL(appUrl).origin) return true
  return URL.canParse(origin) && new URL(origin).host === request.headers.get('host')
}
