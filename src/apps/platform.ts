import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { type AgentGateway, createAgentGateway } from '../adapters/agent-gateway.ts'
import type { AiProvider } from '../adapters/ai-provider.ts'
import { createAttestations } from '../adapters/attestations.ts'
import { createChain } from '../adapters/chain.ts'
import { createEgress } from '../adapters/egress.ts'
import { createDockerPing } from '../adapters/engine.ts'
import { createEns } from '../adapters/ens.ts'
import { createGitRunner } from '../adapters/git-runner.ts'
import { createIdpA } from '../adapters/idp-a.ts'
import { createIdpB } from '../adapters/idp-b.ts'
import { createIssuerKeys, wellKnownUrl } from '../adapters/issuer-keys.ts'
import { createMailer } from '../adapters/mail.ts'
import { createNoGateway } from '../adapters/no-gateway.ts'
import { createPageReader } from '../adapters/page-reader.ts'
import { createRadioProvider } from '../adapters/radio.ts'
import type { Runtime } from '../adapters/runtime.ts'
import type { Runtimes } from '../adapters/runtimes.ts'
import { createTelegram } from '../adapters/telegram.ts'
import { createTokenCounter, type TokenCounter } from '../adapters/token-counter.ts'
import { createTokenPayments } from '../adapters/token-payments.ts'
import { createVideoProvider } from '../adapters/video.ts'
import { createWebhook } from '../adapters/webhook.ts'
import { createWorkspaceLinks } from '../adapters/workspace-links.ts'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Log } from '../core/log.ts'
import { createSealer } from '../core/secrets.ts'
import { createChangeFeed } from '../db/change-feed.ts'
import type { Connection, Tx } from '../db/open.ts'
import { createKnownDevices } from '../features/accounts/known-devices.ts'
import { createPasswords } from '../features/accounts/passwords.ts'
import { createProofOfWork, DIFFICULTY_BITS } from '../features/accounts/proof-of-work.ts'
import { createSessions } from '../features/accounts/sessions.ts'
import { createUserFinder, toSignedInUser } from '../features/accounts/users.ts'
import { createCallerFinder } from '../features/ai/callers.ts'
import { createCatalogue } from '../features/ai/catalogue.ts'
import { createCooldowns } from '../features/ai/cooldowns.ts'
import { createAiHealth } from '../features/ai/health.ts'
import { createOneAtATime } from '../features/browse/one-at-a-time.ts'
import { createDemoBudget } from '../features/demo/budget.ts'
import { createImageRules } from '../features/deployments/images.ts'
import { createAgentTurns } from '../features/deployments/turns.ts'
import { createFeeds } from '../features/feeds/feeds.ts'
import { createDiskFloor } from '../features/health/disk-floor.ts'
import { createFaultFinder } from '../features/health/faults.ts'
import { createHostProbe } from '../features/health/host.ts'
import { createReadiness } from '../features/health/readiness.ts'
import { createKeyVerifier } from '../features/keys/verify.ts'
import { createLogViewers } from '../features/logs/viewers.ts'
import { clearMemory } from '../features/memory/forget.ts'
import { createMemoryInstruction } from '../features/memory/instruct.ts'
import { createDiskProbe, createFreeDiskProbe } from '../features/metrics/disk.ts'
import { createChannels } from '../features/notifications/channels.ts'
import { enqueueNotification } from '../features/notifications/notify.ts'
import type { Notification } from '../features/notifications/schemas.ts'
import { readOrCreateWebhookKey } from '../features/notifications/webhook-key.ts'
import { createOwnKeys, type OpenProvider } from '../features/own-keys/own-keys.ts'
import { createSecurityEventVerifier } from '../features/security-events/verify.ts'
import { createTokenGate } from '../features/social-identity/gate.ts'
import { createSocialId } from '../features/social-identity/identity.ts'
import { createSocialTokens } from '../features/social-identity/tokens.ts'
import { createStorageQuota } from '../features/storage/quota.ts'
import { takeOver } from '../features/take-over/take-over.ts'
import { copyKeyUsage } from '../features/usage/key-usage.ts'
import { createQuota } from '../features/usage/quota.ts'
import { createUsageRecorder } from '../features/usage/record.ts'
import { createDaySums, createKeySums, createUserSums } from '../features/usage/running-sums.ts'
import { createUsageWriter } from '../features/usage/save.ts'
import { createSpendings } from '../features/usage/spend.ts'
import { createUsageSpool } from '../features/usage/spool.ts'
import { createUnderWayFile } from '../features/usage/under-way.ts'
import { toWatchdogSettings } from '../features/watchdog/settings.ts'
import { createSteadyClock } from '../features/watchdog/steady-clock.ts'
import { createBodies } from '../http/bodies.ts'
import { createCsrf } from '../http/csrf.ts'
import { createExports } from '../http/exports.ts'
import { createIdempotency } from '../http/idempotency.ts'
import { requireInternalKey } from '../http/internal-key.ts'
import { createGuards } from '../http/session.ts'
import { createLiveStreams } from '../http/sse.ts'
import { createJobQueue, type Enqueue } from '../jobs/queue.ts'
import { refuseAgentJobs, STANDS_BACK } from './stand-back.ts'

/** What differs between a server, a test and a command line: everything else is made here. */
export type PlatformParts = {
  config: Config
  clock: Clock
  log: Log
  fetch: typeof fetch
  connection: Connection
  encryptionKey: string
  runtimes: Runtimes
  /** A copy speaks to no agent, asks nothing to be done to one, and provisions none. */
  standsBack: boolean
  providers: AiProvider[]
  /** Where the listeners are; `urlForAgents` leads to the backend from wherever the agents of a runtime are. */
  bound: { webUrl: string; webPort: number; urlForAgents: (runtime: Runtime) => Promise<string> }
  /** Opens a provider with a user's own key. */
  openProvider: OpenProvider
  /** Counts tokens in place of the platform's own counter. */
  tokens?: TokenCounter
}

export type Platform = ReturnType<typeof openPlatform>

/** Makes the parts that rooms share; each room takes the few it names. Closing it closes the database as well. */
export function openPlatform(parts: PlatformParts) {
  const { config, clock, log, connection, runtimes, providers, bound } = parts
  const { db } = connection

  const appUrl = config.appUrl ?? bound.webUrl
  const isHttps = appUrl.startsWith('https:')
  const pages = createPageReader()
  const git = createGitRunner()
  const workspaceLinks = createWorkspaceLinks({ log })
  const sealer = createSealer(parts.encryptionKey)
  const rules = { adminEmails: config.adminEmails, requiresVerifiedEmail: config.mail.smtpUrl !== undefined }
  const sessions = createSessions({ db, clock, log, rules })
  const verifyKey = createKeyVerifier({ db, clock, log })
  const findUserByKey = (key: string) => {
    const holder = verifyKey(key)
    return holder ? { user: toSignedInUser(holder, rules), scopes: holder.scopes } : null
  }
  const findUser = createUserFinder(db, rules)
  const ownKeys = createOwnKeys({ db, clock, log, sealer, openProvider: parts.openProvider })
  const queue = createJobQueue({ db, clock, log })
  const gateway: AgentGateway = parts.standsBack
    ? createNoGateway(STANDS_BACK)
    : createAgentGateway({ fetch: parts.fetch })
  const enqueue: Enqueue = parts.standsBack ? refuseAgentJobs(queue.enqueue) : queue.enqueue
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
  const changes = createChangeFeed(db)
  const { telegram, webhook } = config.watchdog
  const webhookSecret = () => webhook.secret ?? readOrCreateWebhookKey(config.dataDir, log)
  const channels = createChannels({
    telegram: createTelegram(telegram, parts),
    webhook: createWebhook({ url: webhook.url, secret: webhookSecret }, parts),
    clock,
  })
  const usageWriter = createUsageWriter(db)
  const underWayFile = join(config.dataDir, 'usage-under-way.jsonl')
  const usageSpool = createUsageSpool({
    file: join(config.dataDir, 'usage-spool.jsonl'),
    underWayFile,
    writer: usageWriter,
    log,
  })
  const sums = {
    userSums: createUserSums({ db, clock }),
    keySums: createKeySums({ db, clock }),
    daySums: createDaySums({ db, clock }),
  }
  const usage = createUsageRecorder({ writer: usageWriter, spool: usageSpool, clock, log, ...sums })
  const tokens = parts.tokens ?? createTokenCounter({ log })
  const egress = createEgress({ allowPrivate: config.summarizer.allowPrivate })
  const diskFloor = createDiskFloor(
    createFreeDiskProbe([config.dataDir, dirname(config.databaseFile)]),
    config.minFreeDiskBytes,
  )
  const catalogue = createCatalogue({ providers, aggregator: config.ai.aggregator, log })

  return {
    db,
    /** For what is done to the file itself, between writes. */
    connection,
    clock,
    log,
    sealer,
    rules,
    sessions,
    passwords: createPasswords(Math.max(1, availableParallelism() - 1)),
    verifyKey,
    guards: createGuards({ findUserBySession: sessions.find, findUserByKey }, { isHttps }),
    changes,
    liveStreams: createLiveStreams(),
    bodies: createBodies(),
    exports: createExports(),
    logViewers: createLogViewers(clock),
    knownDevices: createKnownDevices({ key: sealer.deriveKey('known-devices'), clock }),
    csrf: createCsrf({
      key: sealer.deriveKey('csrf'),
      clock,
      isOwnOrigin: (origin, request) => isOwn(appUrl, origin, request),
    }),
    internalKey: requireInternalKey(config.internalApiKey, findUser),
    findUser,
    callers: createCallerFinder({
      db,
      clock,
      verifyKey,
      rules,
      ownKeys,
      findUser,
      internalApiKey: config.internalApiKey,
    }),
    verifySecurityEvent: createSecurityEventVerifier(securityEvents, {
      keys: securityEventKeys,
      clock,
      rememberedDays: config.retentionDays.securityEvents,
    }),
    identityIssuer: config.idpB.issuer,
    socialId: createSocialId(config.socialId, { keys: socialIdKeys, clock }),
    socialTokens: createSocialTokens({ db, clock, key: sealer.deriveKey('social-identity') }),
    tokenGate: createTokenGate(
      { ...tokenGating, contract: tokenGating.address, rpcUrl: config.baseRpcUrl },
      { clock, readBalance: chain.readBalance },
    ),
    identityProviders: { 'idp-a': createIdpA(config.idpA, parts), 'idp-b': createIdpB(config.idpB, parts) },
    chain,
    attestations: createAttestations({
      rpcUrl: config.baseRpcUrl,
      chainId: config.siweChainId,
      easAddress: config.verification.easAddress,
    }),
    ens: createEns({ rpcUrl: config.verification.ensRpcUrl }),
    clonePayments: createTokenPayments(config.clone),
    siweChainId: config.siweChainId,
    enqueue,
    takeOver: (tx: Tx, userId: string) => takeOver(tx, { clock, sealer, enqueue }, userId),
    clearMemory,
    copyKeyUsage,
    mailer: createMailer({ ...config.mail, writesToLog: !config.isProduction }, { log }),
    queue,
    runtimes,
    standsBack: parts.standsBack,
    gateway,
    catalogue,
    instruct: createMemoryInstruction(db),
    cooldowns: createCooldowns({ nowMs: () => performance.now() }),
    aggregator: config.ai.aggregator,
    ownKeys,
    ...sums,
    demoBudget: createDemoBudget({ ...sums, dailyBudgetUsd: config.ai.demoDailyBudgetUsd }),
    spendings: createSpendings({
      quota: createQuota(sums),
      usage,
      underWayFile: createUnderWayFile(underWayFile),
      clock,
    }),
    tokens,
    usage,
    usageSpool,
    probeHost: createHostProbe(),
    measureDisk: createDiskProbe(config.dataDir),
    storage: createStorageQuota({ rules }),
    retention: config.retentionDays,
    diskFloor,
    findFailing: createReadiness({ db, clock, runtimes, diskFloor }),
    findFaults: createFaultFinder({ db, clock, diskFloor }),
    probeProviders: createAiHealth({ providers, log }),
    isDockerAvailable: createDockerPing(config.agents.dockerHost),
    isHttps,
    addresses: { agentsDomain: config.agentsDomain, isHttps, webPort: bound.webPort },
    signUp: {
      mode: config.signUp,
      firstUserOwnsHouse: config.mode === 'home',
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
    plansArePaid: config.mode !== 'home',
    killSwitch: config.agents.killSwitch || parts.standsBack,
    defaultAiProvider: config.ai.aggregator,
    aiProviderUrls: Object.fromEntries(config.ai.providers.map(({ id, baseUrl }) => [id, baseUrl])),
    idempotency: createIdempotency({ db, clock, sealer }),
    basePort: config.agents.basePort,
    browseRoot: config.browseRoot,
    agentsFolder: join(config.dataDir, 'agents'),
    oneAtATime: createOneAtATime(),
    git,
    workspaceLinks,
    gitAllowsPrivate: config.summarizer.allowPrivate,
    plannedEndpoints: config.plannedEndpoints,
    webhooks: config.webhooks,
    radio: createRadioProvider(config.radio, parts),
    video: createVideoProvider(config.video, parts),
    videoPricing: config.video,
    videosFolder: join(config.dataDir, 'videos'),
    requestsPerMinute: config.requestsPerMinute,
    platformUrl: bound.urlForAgents,
    agentTurns: createAgentTurns(),
    watchdog: config.watchdog,
    watchdogSettings: toWatchdogSettings(config.watchdog),
    steady: createSteadyClock(clock),
    channels,
    notify: (tx: Tx, notification: Notification) =>
      enqueueNotification({ clock, enqueue: queue.enqueue, channels }, tx, notification),
    snapshotDir: join(config.dataDir, 'backups', 'agents'),
    imageRules: createImageRules({ image: config.agents.image, named: config.agents.images }),
    agentImage: config.agents.image,
    egress,
    feeds: createFeeds({ egress, clock, log, feeds: config.feeds }),
    pages,
    summarizerPayTo: config.summarizer.payTo ?? null,
    appUrl,
    close() {
      changes.close()
      pages.close()
      tokens.close()
      git.close()
      void workspaceLinks.close()
      connection.close()
    },
  }
}

/** Browsers name the origin of the page; ours is the configured one, or whatever host the request came to. */
function isOwn(appUrl: string, origin: string, request: Request): boolean {
  if (origin === new URL(appUrl).origin) return true
  return URL.canParse(origin) && new URL(origin).host === request.headers.get('host')
}
