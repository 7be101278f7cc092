import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { migrations } from '../../migrations/list.ts'
import { type AgentGateway, createAgentGateway } from '../adapters/agent-gateway.ts'
import type { AiProvider } from '../adapters/ai-provider.ts'
import { type Backend, type CallBackend, callOverHttp, createBackend } from '../adapters/backend.ts'
import { createChain } from '../adapters/chain.ts'
import { createDockerPing } from '../adapters/docker-engine.ts'
import { createIdpA } from '../adapters/idp-a.ts'
import { createIdpB } from '../adapters/idp-b.ts'
import { createIssuerKeys, wellKnownUrl } from '../adapters/issuer-keys.ts'
import { createMailer } from '../adapters/mail.ts'
import type { Runtime } from '../adapters/runtime.ts'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Log } from '../core/log.ts'
import { createSealer } from '../core/secrets.ts'
import { migrate } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import { openWriteQueue } from '../db/write.ts'
import { createPasswords } from '../features/accounts/passwords.ts'
import { createProofOfWork, DIFFICULTY_BITS } from '../features/accounts/proof-of-work.ts'
import { createSessions } from '../features/accounts/sessions.ts'
import { createUserFinder, toSignedInUser } from '../features/accounts/users.ts'
import { createCallerFinder } from '../features/ai/callers.ts'
import { createCatalogue } from '../features/ai/catalogue.ts'
import { createAiHealth } from '../features/ai/health.ts'
import { createHostProbe } from '../features/health/host.ts'
import { createKeyVerifier } from '../features/keys/verify.ts'
import { createSecurityEventVerifier } from '../features/security-events/verify.ts'
import { createTokenGate } from '../features/social-identity/gate.ts'
import { createSocialId } from '../features/social-identity/identity.ts'
import { createSocialTokens } from '../features/social-identity/tokens.ts'
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
  /** Where the listeners are; agents call `backendUrl`, which leads to this machine. */
  bound: { webUrl: string; webPort: number; backendUrl: string }
}

export type Platform = ReturnType<typeof openPlatform>

/**
 * Opens the database and makes the parts that rooms share; each room takes the few it names.
 * @throws StartupError when the database cannot be opened or migrated.
 */
export function openPlatform(parts: PlatformParts) {
  const { config, clock, log, runtime, providers, bound } = parts
  const connection = openDatabase(parts.databaseFile)
  migrate(connection.sqlite, migrations, { backupDir: join(config.dataDir, 'backups') })
  openWriteQueue(connection)
  const { db } = connection

  const appUrl = config.appUrl ?? bound.webUrl
  const isHttps = appUrl.startsWith('https:')
  const late: { callBackend: CallBackend } = {
    callBackend: () => Promise.reject(new Error('The app is not built yet')),
  }
  const sealer = createSealer(parts.encryptionKey)
  const rules = { adminEmails: config.adminEmails, requiresVerifiedEmail: config.mail.smtpUrl !== undefined }
  const sessions = createSessions({ db, clock, log, rules })
  const verifyKey = createKeyVerifier({ db, clock, log })
  const findUserByKey = (key: string) => {
    const holder = verifyKey(key)
    return holder ? { user: toSignedInUser(holder, rules), scopes: holder.scopes } : null
  }
  const queue = createJobQueue({ db, clock, log })
  const gateway: AgentGateway = createAgentGateway({ fetch: parts.fetch })
  const backend: Backend = createBackend(
    config.backendUrl
      ? callOverHttp({ baseUrl: config.backendUrl, internalApiKey: config.internalApiKey, fetch: parts.fetch })
      : (path, init, caller) => late.callBackend(path, init, caller),
  )
  const chain = createChain({ rpcUrl: config.baseRpcUrl, chainId: config.siweChainId })
  const { securityEvents, tokenGating } = config
  const securityEventKeys = createIssuerKeys(
    {
      configurationUrls: [securityEvents.configurationUrl ?? wellKnownUrl(securityEvents.issuer, 'risc-configuration')],
    },
    { fetch: parts.fetch, clock },
  )
  const socialIssuer = config.socialId.issuer ?? ''
  const socialIdKeys = createIssuerKeys(
    // Not every network of this kind is an OpenID provider; the others publish their keys under the usual name.
    {
      configurationUrls: [wellKnownUrl(socialIssuer, 'openid-configuration'), wellKnownUrl(socialIssuer, 'jwks.json')],
    },
    { fetch: parts.fetch, clock },
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
      isOwnOrigin: (origin, request) => isOwn(appUrl, origin, request),
    }),
    internalKey: requireInternalKey(config.internalApiKey, createUserFinder(db, rules)),
    callers: createCallerFinder({ db, verifyKey, rules, internalApiKey: config.internalApiKey }),
    verifySecurityEvent: createSecurityEventVerifier(securityEvents, { keys: securityEventKeys, clock }),
    identityIssuer: config.idpB.issuer,
    socialId: createSocialId(config.socialId, { keys: socialIdKeys, clock }),
    socialTokens: createSocialTokens({ db, clock, key: sealer.deriveKey('social-identity') }),
    tokenGate: createTokenGate(
      { ...tokenGating, contract: tokenGating.address, rpcUrl: config.baseRpcUrl },
      { clock, readBalance: chain.readBalance },
    ),
    identityProviders: { 'idp-a': createIdpA(config.idpA, parts), 'idp-b': createIdpB(config.idpB, parts) },
    chain,
    siweChainId: config.siweChainId,
    enqueue: queue.enqueue,
    mailer: createMailer({ ...config.mail, writesToLog: !config.isProduction }, { log }),
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
    addresses: { domain: config.domain, isHttps, webPort: bound.webPort },
    signUp: {
      mode: config.signUp,
      firstUserOwnsPlan: config.mode === 'home',
      walletEmailDomain: config.walletEmailDomain,
    },
    botDetection: {
      mode: config.botDetection,
      proofOfWork: createProofOfWork({
        db,
        clock,
        key: sealer.deriveKey('proof-of-work'),
        difficulty: config.botDetection === 'pow' ? DIFFICULTY_BITS : 0,
      }),
    },
    killSwitch: config.agents.killSwitch,
    basePort: config.agents.basePort,
    plannedEndpoints: config.plannedEndpoints,
    requestsPerMinute: config.requestsPerMinute,
    platformUrl: bound.backendUrl,
    appUrl,
    /** The in-process backend: known once the app is built. */
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
