import { dirname, join } from 'node:path'
import { createAttestations } from '../adapters/chain/attestations.ts'
import { createEns } from '../adapters/chain/ens.ts'
import { createTokenPayments } from '../adapters/chain/token-payments.ts'
import { createEgress } from '../adapters/egress/egress.ts'
import { type AgentGateway, createAgentGateway } from '../adapters/gateways/gateway.ts'
import { createNoGateway } from '../adapters/gateways/no-gateway.ts'
import { createGitRunner } from '../adapters/git/runner.ts'
import { createRadioProvider } from '../adapters/media/radio.ts'
import { createVideoProvider } from '../adapters/media/video.ts'
import type { AiProvider } from '../adapters/models/provider.ts'
import { createTokenCounter, type TokenCounter } from '../adapters/models/token-counter.ts'
import { createPageReader } from '../adapters/pages/reader.ts'
import type { Runtime } from '../adapters/runtimes/contract/runtime.ts'
import type { Runtimes } from '../adapters/runtimes/contract/runtimes.ts'
import { createDockerPing } from '../adapters/runtimes/engine/engine.ts'
import { createWorkspaceLinks } from '../adapters/workspaces/links.ts'
import type { Clock } from '../core/clock.ts'
import type { Config } from '../core/config.ts'
import type { Log } from '../core/log.ts'
import { createSealer } from '../core/secrets.ts'
import { createChangeFeed } from '../db/change-feed.ts'
import type { Connection } from '../db/open.ts'
import { createImageRules } from '../features/agents/deployments/images.ts'
import { createAgentTurns } from '../features/agents/deployments/turns.ts'
import { createLogViewers } from '../features/agents/logs/viewers.ts'
import { createDiskFloor } from '../features/agents/storage/disk-floor.ts'
import { createStorageQuota } from '../features/agents/storage/quota.ts'
import { toWatchdogSettings } from '../features/agents/watchdog/settings.ts'
import { createSteadyClock } from '../features/agents/watchdog/steady-clock.ts'
import type { Base } from '../features/base.ts'
import { takeOver } from '../features/house/take-over/take-over.ts'
import { createDemoBudget } from '../features/models/demo/budget.ts'
import { createCallerFinder } from '../features/models/gateway/callers.ts'
import { createCatalogue } from '../features/models/gateway/catalogue.ts'
import { createCooldowns } from '../features/models/gateway/cooldowns.ts'
import { createAiHealth } from '../features/models/gateway/health.ts'
import { createOwnKeys, type OpenProvider } from '../features/models/own-keys/own-keys.ts'
import { copyKeyUsage } from '../features/models/usage/key-usage.ts'
import { createQuota } from '../features/models/usage/quota.ts'
import { createUsageRecorder } from '../features/models/usage/record.ts'
import { createDaySums, createKeySums, createUserSums } from '../features/models/usage/running-sums.ts'
import { createUsageWriter } from '../features/models/usage/save.ts'
import { createSpendings } from '../features/models/usage/spend.ts'
import { createUsageSpool } from '../features/models/usage/spool.ts'
import { createUnderWayFile } from '../features/models/usage/under-way.ts'
import { openMoney } from '../features/money/open.ts'
import { openPeople } from '../features/people/open.ts'
import { clearMemory } from '../features/talk/memory/forget.ts'
import { createMemoryInstruction } from '../features/talk/memory/instruct.ts'
import { createFaultFinder } from '../features/views/health/faults.ts'
import { createHostProbe } from '../features/views/health/host.ts'
import { createReadiness } from '../features/views/health/readiness.ts'
import { createDiskProbe, createFreeDiskProbe } from '../features/views/metrics/disk.ts'
import { createOneAtATime } from '../features/web-tools/browse/one-at-a-time.ts'
import { createFeeds } from '../features/web-tools/feeds/feeds.ts'
import { createBodies } from '../http/bodies.ts'
import { createExports } from '../http/exports.ts'
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
  const pages = createPageReader()
  const git = createGitRunner()
  const workspaceLinks = createWorkspaceLinks({ log })
  const sealer = createSealer(parts.encryptionKey)
  const queue = createJobQueue({ db, clock, log })
  const enqueue: Enqueue = parts.standsBack ? refuseAgentJobs(queue.enqueue) : queue.enqueue
  const base: Base = { db, clock, log, sealer, enqueue, fetch: parts.fetch }
  const people = openPeople(
    base,
    { ...config, appUrl },
    { takeOver: (tx, userId) => takeOver(tx, base, userId), copyKeyUsage },
  )
  const { rules, verifyKey, findUser, isHttps } = people
  const ownKeys = createOwnKeys({ db, clock, log, sealer, openProvider: parts.openProvider })
  const gateway: AgentGateway = parts.standsBack
    ? createNoGateway(STANDS_BACK)
    : createAgentGateway({ fetch: parts.fetch })
  const changes = createChangeFeed(db)
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
    ...base,
    ...people,
    ...openMoney(base, config),
    /** For what is done to the file itself, between writes. */
    connection,
    changes,
    liveStreams: createLiveStreams(),
    bodies: createBodies(),
    exports: createExports(),
    logViewers: createLogViewers(clock),
    callers: createCallerFinder({
      db,
      clock,
      verifyKey,
      rules,
      ownKeys,
      findUser,
      internalApiKey: config.internalApiKey,
    }),
    attestations: createAttestations({
      rpcUrl: config.baseRpcUrl,
      chainId: config.siweChainId,
      easAddress: config.verification.easAddress,
    }),
    ens: createEns({ rpcUrl: config.verification.ensRpcUrl }),
    clonePayments: createTokenPayments(config.clone),
    clearMemory,
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
    addresses: { agentsDomain: config.agentsDomain, isHttps, webPort: bound.webPort },
    killSwitch: config.agents.killSwitch || parts.standsBack,
    defaultAiProvider: config.ai.aggregator,
    aiProviderUrls: Object.fromEntries(config.ai.providers.map(({ id, baseUrl }) => [id, baseUrl])),
    basePort: config.agents.basePort,
    browseRoot: config.browseRoot,
    agentsFolder: join(config.dataDir, 'agents'),
    oneAtATime: createOneAtATime(),
    git,
    workspaceLinks,
    gitAllowsPrivate: config.summarizer.allowPrivate,
    webhooks: config.webhooks,
    radio: createRadioProvider(config.radio, parts),
    video: createVideoProvider(config.video, parts),
    videoPricing: config.video,
    videosFolder: join(config.dataDir, 'videos'),
    platformUrl: bound.urlForAgents,
    agentTurns: createAgentTurns(),
    watchdog: config.watchdog,
    watchdogSettings: toWatchdogSettings(config.watchdog),
    steady: createSteadyClock(clock),
    snapshotDir: join(config.dataDir, 'backups', 'agents'),
    imageRules: createImageRules({ image: config.agents.image, named: config.agents.images }),
    agentImage: config.agents.image,
    egress,
    feeds: createFeeds({ egress, clock, log, feeds: config.feeds }),
    pages,
    summarizerPayTo: config.summarizer.payTo ?? null,
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
